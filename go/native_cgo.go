//go:build cgo && mldsa_cgo && !mldsa_purego

package mldsa

/*
#cgo linux,amd64 CFLAGS: -I${SRCDIR}/native/linux_amd64
#cgo linux,arm64 CFLAGS: -I${SRCDIR}/native/linux_arm64
#cgo linux,amd64 LDFLAGS: ${SRCDIR}/native/linux_amd64/libmldsa_c.a -lm -ldl -lpthread
#cgo linux,arm64 LDFLAGS: ${SRCDIR}/native/linux_arm64/libmldsa_c.a -lm -ldl -lpthread
#cgo noescape mldsa_verify
#cgo nocallback mldsa_verify
#cgo noescape mldsa_sign
#cgo nocallback mldsa_sign
#cgo noescape mldsa_verify_prehashed
#cgo nocallback mldsa_verify_prehashed
#cgo noescape mldsa_verify_mu
#cgo nocallback mldsa_verify_mu
#cgo noescape mldsa_sign_prehashed
#cgo nocallback mldsa_sign_prehashed
#cgo noescape mldsa_sign_mu
#cgo nocallback mldsa_sign_mu
#cgo noescape mldsa_batch_verify_packed
#cgo nocallback mldsa_batch_verify_packed
#cgo noescape mldsa_committee_verify_batch_packed
#cgo nocallback mldsa_committee_verify_batch_packed
#cgo noescape mldsa_committee_verify_quorum_packed
#cgo nocallback mldsa_committee_verify_quorum_packed
#if !__has_include("mldsa.h")
#error "the C library is not built: run go/build-native.sh"
#endif
#include "mldsa.h"
*/
import "C"

import (
	"unsafe"

	_ "mldsa.example/go/native/linux_amd64"
	_ "mldsa.example/go/native/linux_arm64"
)

// Implementation is the name of the implementation in use.
const Implementation = "mldsa_cgo"

type cgo struct{}

var abi cgo

func u8(bytes []byte) *C.uint8_t { return (*C.uint8_t)(pointer(bytes)) }
func size(bytes []byte) C.size_t { return C.size_t(len(bytes)) }
func vk(p unsafe.Pointer) *C.mldsa_public_key {
	return (*C.mldsa_public_key)(p)
}
func sk(p unsafe.Pointer) *C.mldsa_private_key {
	return (*C.mldsa_private_key)(p)
}

func (cgo) version() uint32 { return uint32(C.mldsa_abi_version()) }

func (cgo) publicKeyNew(set uint32, encoded []byte, key *unsafe.Pointer) int32 {
	var made *C.mldsa_public_key
	status := C.mldsa_public_key_new(C.uint32_t(set), u8(encoded), size(encoded), &made)
	*key = unsafe.Pointer(made)
	return int32(status)
}

func (cgo) publicKeyFree(key unsafe.Pointer) { C.mldsa_public_key_free(vk(key)) }

func (cgo) publicKeyPrepare(key unsafe.Pointer) { C.mldsa_public_key_prepare(vk(key)) }

func (cgo) publicKeyBytes(key unsafe.Pointer, out []byte) int32 {
	n := size(out)
	return int32(C.mldsa_public_key_bytes(vk(key), u8(out), &n))
}

func (cgo) verify(key unsafe.Pointer, message, context, signature []byte) int32 {
	return int32(C.mldsa_verify(vk(key), u8(message), size(message), u8(context), size(context),
		u8(signature), size(signature)))
}

func (cgo) signatureDecode(set uint32, signature []byte, decoded *unsafe.Pointer) int32 {
	var made *C.mldsa_signature
	status := C.mldsa_signature_decode(C.uint32_t(set), u8(signature), size(signature), &made)
	*decoded = unsafe.Pointer(made)
	return int32(status)
}

func (cgo) signatureFree(decoded unsafe.Pointer) {
	C.mldsa_signature_free((*C.mldsa_signature)(decoded))
}

func (cgo) verifyPreHashed(key unsafe.Pointer, hash uint32, digest, context, signature []byte) int32 {
	return int32(C.mldsa_verify_prehashed(vk(key), C.uint32_t(hash), u8(digest), size(digest), u8(context),
		size(context), u8(signature), size(signature)))
}

func (cgo) verifyMu(key unsafe.Pointer, mu, signature []byte) int32 {
	return int32(C.mldsa_verify_mu(vk(key), u8(mu), size(mu), u8(signature), size(signature)))
}

func (cgo) privateKeyFromSeed(set uint32, seed []byte, key *unsafe.Pointer) int32 {
	var made *C.mldsa_private_key
	status := C.mldsa_private_key_from_seed(C.uint32_t(set), u8(seed), size(seed), &made)
	*key = unsafe.Pointer(made)
	return int32(status)
}

func (cgo) privateKeyFromExpanded(set uint32, expanded []byte, key *unsafe.Pointer) int32 {
	var made *C.mldsa_private_key
	status := C.mldsa_private_key_from_expanded(C.uint32_t(set), u8(expanded), size(expanded), &made)
	*key = unsafe.Pointer(made)
	return int32(status)
}

func (cgo) publicKeyFromSPKI(spki []byte, key *unsafe.Pointer, place *pemPlace) int32 {
	var made *C.mldsa_public_key
	status := C.mldsa_public_key_from_spki(u8(spki), size(spki), &made, (*C.mldsa_pem_place)(unsafe.Pointer(place)))
	*key = unsafe.Pointer(made)
	return int32(status)
}

func (cgo) publicKeySet(key unsafe.Pointer) uint32 { return uint32(C.mldsa_public_key_set(vk(key))) }

func (cgo) privateKeyFromPKCS8(pkcs8 []byte, key *unsafe.Pointer, place *pemPlace) int32 {
	var made *C.mldsa_private_key
	status := C.mldsa_private_key_from_pkcs8(u8(pkcs8), size(pkcs8), &made, (*C.mldsa_pem_place)(unsafe.Pointer(place)))
	*key = unsafe.Pointer(made)
	return int32(status)
}

func (cgo) privateKeySet(key unsafe.Pointer) uint32 { return uint32(C.mldsa_private_key_set(sk(key))) }

func (cgo) privateKeyFree(key unsafe.Pointer) { C.mldsa_private_key_free(sk(key)) }

func (cgo) privateKeyPrepare(key unsafe.Pointer) { C.mldsa_private_key_prepare(sk(key)) }

func (cgo) privateKeySetSelfVerification(key unsafe.Pointer, on uint32) {
	C.mldsa_private_key_set_self_verification(sk(key), C.uint32_t(on))
}

func (cgo) privateKeySeed(key unsafe.Pointer, out []byte) int32 {
	n := size(out)
	return int32(C.mldsa_private_key_seed(sk(key), u8(out), &n))
}

func (cgo) privateKeyExpanded(key unsafe.Pointer, out []byte) int32 {
	n := size(out)
	return int32(C.mldsa_private_key_expanded(sk(key), u8(out), &n))
}

func (cgo) privateKeyPublicKey(key unsafe.Pointer, public *unsafe.Pointer) int32 {
	var made *C.mldsa_public_key
	status := C.mldsa_private_key_public_key(sk(key), &made)
	*public = unsafe.Pointer(made)
	return int32(status)
}

func (cgo) sign(key unsafe.Pointer, message, context []byte, randomness *[32]byte, out []byte) int32 {
	n := size(out)
	return int32(C.mldsa_sign(sk(key), u8(message), size(message), u8(context), size(context),
		u8(randomness[:]), u8(out), &n))
}

func (cgo) signPreHashed(key unsafe.Pointer, hash uint32, digest, context []byte, randomness *[32]byte,
	out []byte) int32 {
	n := size(out)
	return int32(C.mldsa_sign_prehashed(sk(key), C.uint32_t(hash), u8(digest), size(digest), u8(context),
		size(context), u8(randomness[:]), u8(out), &n))
}

func (cgo) signMu(key unsafe.Pointer, mu []byte, randomness *[32]byte, out []byte) int32 {
	n := size(out)
	return int32(C.mldsa_sign_mu(sk(key), u8(mu), size(mu), u8(randomness[:]), u8(out), &n))
}

func (cgo) committeeNew(options *committeeOptions, context, keys []byte, weights []uint64,
	committee *unsafe.Pointer) int32 {
	var made *C.mldsa_committee
	status := C.mldsa_committee_new((*C.mldsa_committee_options)(unsafe.Pointer(options)), u8(context),
		size(context), u8(keys), size(keys), (*C.uint64_t)(unsafe.SliceData(weights)),
		C.size_t(len(weights)), &made)
	*committee = unsafe.Pointer(made)
	return int32(status)
}

func (cgo) committeeSuccessor(old unsafe.Pointer, epoch uint64, keys []byte, weights []uint64,
	committee *unsafe.Pointer) int32 {
	var made *C.mldsa_committee
	status := C.mldsa_committee_successor((*C.mldsa_committee)(old), C.uint64_t(epoch), u8(keys),
		size(keys), (*C.uint64_t)(unsafe.SliceData(weights)), C.size_t(len(weights)), &made)
	*committee = unsafe.Pointer(made)
	return int32(status)
}

func (cgo) committeeFree(committee unsafe.Pointer) {
	C.mldsa_committee_free((*C.mldsa_committee)(committee))
}

// The layouts agree, or this does not compile.
var (
	_ = [1]struct{}{}[unsafe.Sizeof(packedVote{})-C.sizeof_mldsa_packed_vote]
	_ = [1]struct{}{}[unsafe.Sizeof(packedItem{})-C.sizeof_mldsa_packed_item]
	_ = [1]struct{}{}[unsafe.Sizeof(committeeOptions{})-C.sizeof_mldsa_committee_options]
	_ = [1]struct{}{}[unsafe.Sizeof(quorumResult{})-C.sizeof_mldsa_quorum]
	_ = [1]struct{}{}[unsafe.Sizeof(pemPlace{})-C.sizeof_mldsa_pem_place]
)

func (cgo) committeeVerify(committee unsafe.Pointer, data []byte, votes []packedVote, out []byte) int32 {
	return int32(C.mldsa_committee_verify_batch_packed((*C.mldsa_committee)(committee), u8(data), size(data),
		(*C.mldsa_packed_vote)(unsafe.Pointer(unsafe.SliceData(votes))), C.size_t(len(votes)), u8(out)))
}

func (cgo) committeeVerifyQuorum(committee unsafe.Pointer, rule uint32, message, data []byte, votes []packedVote,
	result *quorumResult) int32 {
	return int32(C.mldsa_committee_verify_quorum_packed((*C.mldsa_committee)(committee), C.uint32_t(rule),
		u8(message), size(message), u8(data), size(data),
		(*C.mldsa_packed_vote)(unsafe.Pointer(unsafe.SliceData(votes))), C.size_t(len(votes)),
		(*C.mldsa_quorum)(unsafe.Pointer(result))))
}

func (cgo) batchNew(set uint32, cacheBytes uintptr, batch *unsafe.Pointer) int32 {
	var made *C.mldsa_batch
	status := C.mldsa_batch_new(C.uint32_t(set), threadsCalling, C.size_t(cacheBytes), &made)
	*batch = unsafe.Pointer(made)
	return int32(status)
}

func (cgo) batchVerify(batch unsafe.Pointer, context, data []byte, items []packedItem, out []byte) int32 {
	return int32(C.mldsa_batch_verify_packed((*C.mldsa_batch)(batch), u8(context), size(context), u8(data), size(data),
		(*C.mldsa_packed_item)(unsafe.Pointer(unsafe.SliceData(items))), C.size_t(len(items)), u8(out)))
}
