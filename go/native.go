//go:build mldsa_cgo || mldsa_purego

package mldsa

import (
	"runtime"
	"unsafe"
)

// Numbers of mldsa.h.
const (
	abiVersion     = 1
	statusOK       = 0
	statusRejected = 40
	verdictValid   = 1
	threadsCalling = 1
)

// allForms says that HashML-DSA and message representatives are available.
const allForms = true

func init() {
	if abi.version() != abiVersion {
		panic("mldsa: the C library has another version of the interface")
	}
}

func failure(status int32, err error) error {
	if status == statusOK {
		return nil
	}
	return err
}

func pointer(bytes []byte) *byte { return unsafe.SliceData(bytes) }

// publicKey is a handle of the library, freed after the last use.
type publicKey struct {
	handle unsafe.Pointer
	// The runtime searches the cleanups of a span one by one: a larger object has fewer neighbours.
	_ [31]uint64
}

func newVerifier(set Set, encoded []byte) (verifier, error) {
	key := &publicKey{}
	if status := abi.publicKeyNew(uint32(set), encoded, &key.handle); status != statusOK {
		return nil, ErrInternal
	}
	runtime.AddCleanup(key, abi.publicKeyFree, key.handle)
	return key, nil
}

func (k *publicKey) verify(in input, signature []byte) bool {
	var status int32
	switch {
	case in.mu:
		status = abi.verifyMu(k.handle, in.message, signature)
	case in.preHash != 0:
		status = abi.verifyPreHashed(k.handle, uint32(in.preHash), in.message, in.context, signature)
	default:
		status = abi.verify(k.handle, in.message, in.context, signature)
	}
	runtime.KeepAlive(k)
	return status == statusOK
}

func (k *publicKey) prepare() {
	abi.publicKeyPrepare(k.handle)
	runtime.KeepAlive(k)
}

// privateKey is a handle of the library, wiped and freed after the last use.
type privateKey struct {
	handle unsafe.Pointer
	set    Set
}

func ownPrivateKey(set Set, handle unsafe.Pointer) *privateKey {
	key := &privateKey{handle, set}
	runtime.AddCleanup(key, abi.privateKeyFree, handle)
	return key
}

func signerFromSeed(set Set, seed []byte) (signer, error) {
	var handle unsafe.Pointer
	if status := abi.privateKeyFromSeed(uint32(set), seed, &handle); status != statusOK {
		return nil, ErrInternal
	}
	return ownPrivateKey(set, handle), nil
}

func signerFromExpanded(set Set, expanded []byte) (signer, error) {
	var handle unsafe.Pointer
	if status := abi.privateKeyFromExpanded(uint32(set), expanded, &handle); status != statusOK {
		return nil, ErrKey
	}
	return ownPrivateKey(set, handle), nil
}

func (k *privateKey) sign(in input, randomness *[32]byte) ([]byte, error) {
	signature := make([]byte, k.set.SignatureSize())
	var status int32
	switch {
	case in.mu:
		status = abi.signMu(k.handle, in.message, randomness, signature)
	case in.preHash != 0:
		status = abi.signPreHashed(k.handle, uint32(in.preHash), in.message, in.context, randomness, signature)
	default:
		status = abi.sign(k.handle, in.message, in.context, randomness, signature)
	}
	runtime.KeepAlive(k)
	return signature, failure(status, ErrInternal)
}

func (k *privateKey) seed() ([]byte, error) {
	seed := make([]byte, SeedSize)
	status := abi.privateKeySeed(k.handle, seed)
	runtime.KeepAlive(k)
	if status != statusOK {
		return nil, ErrNoSeed
	}
	return seed, nil
}

func (k *privateKey) expanded() ([]byte, error) {
	expanded := make([]byte, k.set.ExpandedKeySize())
	status := abi.privateKeyExpanded(k.handle, expanded)
	runtime.KeepAlive(k)
	return expanded, failure(status, ErrInternal)
}

func (k *privateKey) publicKey() ([]byte, error) {
	var handle unsafe.Pointer
	encoded := make([]byte, k.set.PublicKeySize())
	status := abi.privateKeyPublicKey(k.handle, &handle)
	runtime.KeepAlive(k)
	if status == statusOK {
		status = abi.publicKeyBytes(handle, encoded)
		abi.publicKeyFree(handle)
	}
	// Every key that signs here, does so often.
	abi.privateKeyPrepare(k.handle)
	runtime.KeepAlive(k)
	return encoded, failure(status, ErrInternal)
}

// committee is a handle of the library.
type committee struct{ handle unsafe.Pointer }

func ownCommittee(handle unsafe.Pointer, status int32) (votesVerifier, error) {
	if status != statusOK {
		return nil, ErrCommittee
	}
	c := &committee{handle}
	runtime.AddCleanup(c, abi.committeeFree, handle)
	return c, nil
}

func newVotesVerifier(c *Committee, context []byte) (votesVerifier, error) {
	var handle unsafe.Pointer
	keys, weights := concatenated(c.members)
	status := abi.committeeNew(uint32(c.set), context, c.epoch, keys, weights, &handle)
	return ownCommittee(handle, status)
}

func (c *committee) successor(next *Committee, changes []Member) (votesVerifier, error) {
	var handle unsafe.Pointer
	keys, weights := concatenated(changes)
	status := abi.committeeSuccessor(c.handle, next.epoch, keys, weights, &handle)
	runtime.KeepAlive(c)
	return ownCommittee(handle, status)
}

func concatenated(list []Member) (keys []byte, weights []uint64) {
	for _, member := range list {
		keys = append(keys, member.Key.encoded...)
		weights = append(weights, member.Weight)
	}
	return keys, weights
}

func (c *committee) verify(data []byte, votes []packed, verdicts []byte) bool {
	status := abi.committeeVerify(c.handle, data, votes, verdicts)
	runtime.KeepAlive(c)
	if status != statusOK && status != statusRejected {
		clear(verdicts)
	}
	return status == statusOK
}
