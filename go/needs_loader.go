//go:build mldsa_purego && (android || !(darwin || freebsd || linux || netbsd))

package mldsa

// The tag mldsa_purego needs a system whose libraries the module purego can open.
var _ = the_tag_mldsa_purego_needs_dlopen_of_Linux_macOS_FreeBSD_or_NetBSD
