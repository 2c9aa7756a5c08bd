//go:build mldsa_purego && !android && (darwin || freebsd || linux || netbsd)

package mldsa

import (
	"fmt"
	"os"
	"path/filepath"
	"unsafe"

	"github.com/ebitengine/purego"
	"golang.org/x/sys/unix"
)

// Implementation is the name of the implementation in use.
const Implementation = "mldsa_purego"

// soname has the version of the interface.
const soname = "libmldsa_c.so.2"

// library holds the functions of the C library.
type library struct {
	cVersion     func() uint32
	cPublicNew   func(set uint32, encoded *byte, n uintptr, key *unsafe.Pointer) int32
	cPublicFree  func(key unsafe.Pointer)
	cPublicPrep  func(key unsafe.Pointer) int32
	cPublicBytes func(key unsafe.Pointer, out *byte, n *uintptr) int32
	cVerify      func(key unsafe.Pointer, message *byte, m uintptr, context *byte, c uintptr,
		signature *byte, s uintptr) int32
	cVerifyPreHashed func(key unsafe.Pointer, hash uint32, digest *byte, d uintptr, context *byte, c uintptr,
		signature *byte, s uintptr) int32
	cDecode       func(set uint32, signature *byte, s uintptr, decoded *unsafe.Pointer) int32
	cFreeDecoded  func(decoded unsafe.Pointer)
	cVerifyMu     func(key unsafe.Pointer, mu *byte, m uintptr, signature *byte, s uintptr) int32
	cFromSeed     func(set uint32, seed *byte, n uintptr, key *unsafe.Pointer) int32
	cFromExpanded func(set uint32, expanded *byte, n uintptr, key *unsafe.Pointer) int32
	cPrivateFree  func(key unsafe.Pointer)
	cFromSPKI     func(spki *byte, n uintptr, key *unsafe.Pointer, place *pemPlace) int32
	cFromPKCS8    func(pkcs8 *byte, n uintptr, key *unsafe.Pointer, place *pemPlace) int32
	cPublicSet    func(key unsafe.Pointer) uint32
	cPrivateSet   func(key unsafe.Pointer) uint32
	cPrivatePrep  func(key unsafe.Pointer) int32
	cSeed         func(key unsafe.Pointer, out *byte, n *uintptr) int32
	cExpanded     func(key unsafe.Pointer, out *byte, n *uintptr) int32
	cPublic       func(key unsafe.Pointer, public *unsafe.Pointer) int32
	cSign         func(key unsafe.Pointer, message *byte, m uintptr, context *byte, c uintptr,
		randomness *byte, out *byte, n *uintptr) int32
	cSignPreHashed func(key unsafe.Pointer, hash uint32, digest *byte, d uintptr, context *byte, c uintptr,
		randomness *byte, out *byte, n *uintptr) int32
	cSignMu       func(key unsafe.Pointer, mu *byte, m uintptr, randomness *byte, out *byte, n *uintptr) int32
	cCommitteeNew func(options *committeeOptions, context *byte, c uintptr, keys *byte, k uintptr,
		weights *uint64, n uintptr, committee *unsafe.Pointer) int32
	cSuccessor func(old unsafe.Pointer, epoch uint64, keys *byte, k uintptr, weights *uint64,
		n uintptr, committee *unsafe.Pointer) int32
	cCommitteeFree func(committee unsafe.Pointer)
	cVerifyPacked  func(committee unsafe.Pointer, data *byte, d uintptr, votes *packedVote, n uintptr,
		out *byte) int32
	cVerifyQuorum func(committee unsafe.Pointer, rule uint32, message *byte, m uintptr, data *byte, d uintptr,
		votes *packedVote, n uintptr, result *quorumResult) int32
	cBatchNew    func(set, threads uint32, cacheBytes uintptr, batch *unsafe.Pointer) int32
	cBatchVerify func(batch unsafe.Pointer, context *byte, c uintptr, data *byte, d uintptr,
		items *packedItem, n uintptr, out *byte) int32
	cSetSelfVerification func(key unsafe.Pointer, on uint32) int32
}

var abi = load()

// load opens the library that MLDSA_LIBRARY names, or the one in the system's search path. A
// relative name with a slash, or a path of the build, would run what somebody puts there.
func load() *library {
	name, err := libraryName(os.Getenv("MLDSA_LIBRARY"), privileged())
	if err == nil {
		var handle uintptr
		if handle, err = purego.Dlopen(name, purego.RTLD_NOW|purego.RTLD_LOCAL); err == nil {
			return functions(handle)
		}
	}
	panic(fmt.Sprintf("mldsa: no C library: MLDSA_LIBRARY names its file (go/README.md): %v", err))
}

// libraryName returns the name for the system's loader, which searches for names without a slash.
// Programs with more privileges than their caller ignore the caller's variable.
func libraryName(named string, privileged bool) (string, error) {
	if named == "" || privileged {
		return soname, nil
	}
	if !filepath.IsAbs(named) {
		return "", fmt.Errorf("MLDSA_LIBRARY is %q, which is not an absolute path", named)
	}
	return named, nil
}

// privileged reports whether the process has privileges that its caller does not have (AT_SECURE).
func privileged() bool {
	const atSecure = 23
	auxiliary, err := unix.Auxv()
	for _, entry := range auxiliary {
		if entry[0] == atSecure {
			return entry[1] != 0
		}
	}
	return err != nil
}

func functions(handle uintptr) *library {
	l := &library{}
	for name, function := range map[string]any{
		"mldsa_abi_version":                    &l.cVersion,
		"mldsa_public_key_new":                 &l.cPublicNew,
		"mldsa_public_key_free":                &l.cPublicFree,
		"mldsa_public_key_prepare":             &l.cPublicPrep,
		"mldsa_public_key_bytes":               &l.cPublicBytes,
		"mldsa_verify":                         &l.cVerify,
		"mldsa_verify_prehashed":               &l.cVerifyPreHashed,
		"mldsa_verify_mu":                      &l.cVerifyMu,
		"mldsa_signature_decode":               &l.cDecode,
		"mldsa_signature_free":                 &l.cFreeDecoded,
		"mldsa_private_key_from_seed":          &l.cFromSeed,
		"mldsa_private_key_from_expanded":      &l.cFromExpanded,
		"mldsa_public_key_from_spki":           &l.cFromSPKI,
		"mldsa_public_key_set":                 &l.cPublicSet,
		"mldsa_private_key_from_pkcs8":         &l.cFromPKCS8,
		"mldsa_private_key_set":                &l.cPrivateSet,
		"mldsa_private_key_free":               &l.cPrivateFree,
		"mldsa_private_key_prepare":            &l.cPrivatePrep,
		"mldsa_private_key_seed":               &l.cSeed,
		"mldsa_private_key_expanded":           &l.cExpanded,
		"mldsa_private_key_public_key":         &l.cPublic,
		"mldsa_sign":                           &l.cSign,
		"mldsa_sign_prehashed":                 &l.cSignPreHashed,
		"mldsa_sign_mu":                        &l.cSignMu,
		"mldsa_committee_new":                  &l.cCommitteeNew,
		"mldsa_committee_successor":            &l.cSuccessor,
		"mldsa_committee_free":                 &l.cCommitteeFree,
		"mldsa_committee_verify_batch_packed":  &l.cVerifyPacked,
		"mldsa_committee_verify_quorum_packed": &l.cVerifyQuorum,
		"mldsa_batch_new":                      &l.cBatchNew,
		"mldsa_batch_verify_packed":            &l.cBatchVerify,

		"mldsa_private_key_set_self_verification": &l.cSetSelfVerification,
	} {
		purego.RegisterLibFunc(function, handle, name)
	}
	return l
}

func length(bytes []byte) uintptr { return uintptr(len(bytes)) }

func (l *library) version() uint32 { return l.cVersion() }

func (l *library) publicKeyNew(set uint32, encoded []byte, key *unsafe.Pointer) int32 {
	return l.cPublicNew(set, pointer(encoded), length(encoded), key)
}

func (l *library) publicKeyFree(key unsafe.Pointer) { l.cPublicFree(key) }

func (l *library) publicKeyPrepare(key unsafe.Pointer) { l.cPublicPrep(key) }

func (l *library) publicKeyBytes(key unsafe.Pointer, out []byte) int32 {
	n := length(out)
	return l.cPublicBytes(key, pointer(out), &n)
}

func (l *library) verify(key unsafe.Pointer, message, context, signature []byte) int32 {
	return l.cVerify(key, pointer(message), length(message), pointer(context), length(context),
		pointer(signature), length(signature))
}

func (l *library) signatureDecode(set uint32, signature []byte, decoded *unsafe.Pointer) int32 {
	return l.cDecode(set, pointer(signature), length(signature), decoded)
}

func (l *library) signatureFree(decoded unsafe.Pointer) { l.cFreeDecoded(decoded) }

func (l *library) verifyPreHashed(key unsafe.Pointer, hash uint32, digest, context, signature []byte) int32 {
	return l.cVerifyPreHashed(key, hash, pointer(digest), length(digest), pointer(context), length(context),
		pointer(signature), length(signature))
}

func (l *library) verifyMu(key unsafe.Pointer, mu, signature []byte) int32 {
	return l.cVerifyMu(key, pointer(mu), length(mu), pointer(signature), length(signature))
}

func (l *library) privateKeyFromSeed(set uint32, seed []byte, key *unsafe.Pointer) int32 {
	return l.cFromSeed(set, pointer(seed), length(seed), key)
}

func (l *library) privateKeyFromExpanded(set uint32, expanded []byte, key *unsafe.Pointer) int32 {
	return l.cFromExpanded(set, pointer(expanded), length(expanded), key)
}

func (l *library) publicKeyFromSPKI(spki []byte, key *unsafe.Pointer, place *pemPlace) int32 {
	return l.cFromSPKI(pointer(spki), length(spki), key, place)
}

func (l *library) publicKeySet(key unsafe.Pointer) uint32 { return l.cPublicSet(key) }

func (l *library) privateKeyFromPKCS8(pkcs8 []byte, key *unsafe.Pointer, place *pemPlace) int32 {
	return l.cFromPKCS8(pointer(pkcs8), length(pkcs8), key, place)
}

func (l *library) privateKeySet(key unsafe.Pointer) uint32 { return l.cPrivateSet(key) }

func (l *library) privateKeyFree(key unsafe.Pointer) { l.cPrivateFree(key) }

func (l *library) privateKeyPrepare(key unsafe.Pointer) { l.cPrivatePrep(key) }

func (l *library) privateKeySetSelfVerification(key unsafe.Pointer, on uint32) {
	l.cSetSelfVerification(key, on)
}

func (l *library) privateKeySeed(key unsafe.Pointer, out []byte) int32 {
	n := length(out)
	return l.cSeed(key, pointer(out), &n)
}

func (l *library) privateKeyExpanded(key unsafe.Pointer, out []byte) int32 {
	n := length(out)
	return l.cExpanded(key, pointer(out), &n)
}

func (l *library) privateKeyPublicKey(key unsafe.Pointer, public *unsafe.Pointer) int32 {
	return l.cPublic(key, public)
}

func (l *library) sign(key unsafe.Pointer, message, context []byte, randomness *[32]byte, out []byte) int32 {
	n := length(out)
	return l.cSign(key, pointer(message), length(message), pointer(context), length(context),
		&randomness[0], pointer(out), &n)
}

func (l *library) signPreHashed(key unsafe.Pointer, hash uint32, digest, context []byte, randomness *[32]byte,
	out []byte) int32 {
	n := length(out)
	return l.cSignPreHashed(key, hash, pointer(digest), length(digest), pointer(context), length(context),
		&randomness[0], pointer(out), &n)
}

func (l *library) signMu(key unsafe.Pointer, mu []byte, randomness *[32]byte, out []byte) int32 {
	n := length(out)
	return l.cSignMu(key, pointer(mu), length(mu), &randomness[0], pointer(out), &n)
}

func (l *library) committeeNew(options *committeeOptions, context, keys []byte, weights []uint64,
	committee *unsafe.Pointer) int32 {
	return l.cCommitteeNew(options, pointer(context), length(context), pointer(keys), length(keys),
		unsafe.SliceData(weights), uintptr(len(weights)), committee)
}

func (l *library) committeeSuccessor(old unsafe.Pointer, epoch uint64, keys []byte, weights []uint64,
	committee *unsafe.Pointer) int32 {
	return l.cSuccessor(old, epoch, pointer(keys), length(keys), unsafe.SliceData(weights),
		uintptr(len(weights)), committee)
}

func (l *library) committeeFree(committee unsafe.Pointer) { l.cCommitteeFree(committee) }

// The sizes of the structs of mldsa.h, or this does not compile.
var (
	_ = [1]struct{}{}[unsafe.Sizeof(packedVote{})-20]
	_ = [1]struct{}{}[unsafe.Sizeof(packedItem{})-24]
	_ = [1]struct{}{}[unsafe.Sizeof(committeeOptions{})-24]
	_ = [1]struct{}{}[unsafe.Sizeof(quorumResult{})-24]
	_ = [1]struct{}{}[unsafe.Sizeof(pemPlace{})-88]
)

func (l *library) committeeVerify(committee unsafe.Pointer, data []byte, votes []packedVote, out []byte) int32 {
	return l.cVerifyPacked(committee, pointer(data), length(data), unsafe.SliceData(votes),
		uintptr(len(votes)), pointer(out))
}

func (l *library) committeeVerifyQuorum(committee unsafe.Pointer, rule uint32, message, data []byte,
	votes []packedVote, result *quorumResult) int32 {
	return l.cVerifyQuorum(committee, rule, pointer(message), length(message), pointer(data), length(data),
		unsafe.SliceData(votes), uintptr(len(votes)), result)
}

func (l *library) batchNew(set uint32, cacheBytes uintptr, batch *unsafe.Pointer) int32 {
	return l.cBatchNew(set, threadsCalling, cacheBytes, batch)
}

func (l *library) batchVerify(batch unsafe.Pointer, context, data []byte, items []packedItem, out []byte) int32 {
	return l.cBatchVerify(batch, pointer(context), length(context), pointer(data), length(data),
		unsafe.SliceData(items), uintptr(len(items)), pointer(out))
}
