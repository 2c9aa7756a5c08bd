// Package mldsa is ML-DSA (FIPS 204): keys, signatures, committees and batches.
//
// One interface has three implementations, selected by build tags, with identical verdicts and
// identical deterministic signatures:
//
//   - mldsa_cgo: the Rust library, linked statically through cgo.
//   - mldsa_purego: the Rust library, loaded at run time without cgo.
//   - neither: CIRCL, in Go alone.
//
// build-native.sh makes the library for the first two. All types are safe for concurrent use
// unless their documentation says otherwise.
package mldsa

import (
	"errors"
	"fmt"
)

// Set is a parameter set of FIPS 204.
type Set uint32

// The parameter sets.
const (
	MLDSA44 Set = 44
	MLDSA65 Set = 65
	MLDSA87 Set = 87
)

var allSets = []Set{MLDSA44, MLDSA65, MLDSA87}

// Sizes in bytes.
const (
	// SeedSize is the size of a private key seed.
	SeedSize = 32
	// MaxContext is the maximum size of a context.
	MaxContext = 255
)

type sizes struct{ publicKey, expandedKey, signature int }

func (s Set) sizes() sizes {
	switch s {
	case MLDSA44:
		return sizes{1312, 2560, 2420}
	case MLDSA65:
		return sizes{1952, 4032, 3309}
	case MLDSA87:
		return sizes{2592, 4896, 4627}
	}
	return sizes{}
}

// PublicKeySize returns the size of a public key in bytes; 0 for an unknown set.
func (s Set) PublicKeySize() int { return s.sizes().publicKey }

// ExpandedKeySize returns the size of an expanded private key in bytes; 0 for an unknown set.
func (s Set) ExpandedKeySize() int { return s.sizes().expandedKey }

// SignatureSize returns the size of a signature in bytes; 0 for an unknown set.
func (s Set) SignatureSize() int { return s.sizes().signature }

// strength is the collision strength lambda in bits.
func (s Set) strength() int {
	switch s {
	case MLDSA44:
		return 128
	case MLDSA65:
		return 192
	}
	return 256
}

// String returns the name in FIPS 204.
func (s Set) String() string { return fmt.Sprintf("ML-DSA-%d", uint32(s)) }

// Reasons of failures.
var (
	ErrSet     = errors.New("mldsa: unknown parameter set")
	ErrKeySize = errors.New("mldsa: key of the wrong size")
	ErrKey     = errors.New("mldsa: no key")
	// Reasons to reject a key. The Rust library has the same ones.
	ErrSecretRange         = errors.New("mldsa: secret coefficient out of range")
	ErrInconsistent        = errors.New("mldsa: private key parts do not belong together")
	ErrConstantK           = errors.New("mldsa: all bytes of K are equal")
	ErrPrivate             = errors.New("mldsa: private key in place of a public key")
	ErrStructure           = errors.New("mldsa: malformed structure of a key file")
	ErrVersion             = errors.New("mldsa: PKCS#8 of version 0 with a public key, or of version 1 without one")
	ErrAttributes          = errors.New("mldsa: malformed attributes of PKCS#8")
	ErrForm                = errors.New("mldsa: private key in none of the three forms of RFC 9881")
	ErrAlgorithmParameters = errors.New("mldsa: algorithm identifier with parameters")
	ErrRandomness          = errors.New("mldsa: the generator returned zeros")
	ErrEncoding            = errors.New("mldsa: rejected key file")
	ErrSecret              = errors.New("mldsa: private keys have no text, JSON, binary or gob form")
	ErrInUse               = errors.New("mldsa: only the zero value of a key is decoded into")
	ErrNoSeed              = errors.New("mldsa: the seed of this key is not known")
	ErrContext             = errors.New("mldsa: context longer than 255 bytes")
	ErrOptions             = errors.New("mldsa: options that do not fit together")
	ErrDigest              = errors.New("mldsa: digest of the wrong size")
	ErrWeakPreHash         = errors.New("mldsa: hash weaker than the parameter set")
	ErrSignature           = errors.New("mldsa: signature of the wrong size")
	ErrInvalid             = errors.New("mldsa: invalid signature")
	ErrMixedSets           = errors.New("mldsa: key of another parameter set")
	ErrTooLarge            = errors.New("mldsa: batch too large")
	ErrInternal            = errors.New("mldsa: internal failure")
	// ErrUnsupported is returned by the implementation with CIRCL for HashML-DSA and message
	// representatives.
	ErrUnsupported = errors.New("mldsa: not supported by this implementation")

	ErrCommittee = errors.New("mldsa: malformed committee")
	ErrMember    = errors.New("mldsa: no such member")
	// Reasons of a QuorumError, with ErrMember and ErrInvalid.
	ErrDuplicateVote      = errors.New("mldsa: one vote twice")
	ErrConflictingVotes   = errors.New("mldsa: two different votes of one member")
	ErrInsufficientWeight = errors.New("mldsa: the votes do not reach the threshold")
)
