//go:build mldsa_cgo && !cgo && !mldsa_purego

package mldsa

// Without cgo the tag mldsa_cgo selects nothing, and a program with another implementation than the
// one that was asked for must not be made.
var _ = the_tag_mldsa_cgo_needs_CGO_ENABLED_1_and_a_C_compiler
