//go:build (cgo && mldsa_cgo) || mldsa_purego

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
type publicKey struct{ handle unsafe.Pointer }

func newVerifier(set Set, encoded []byte) (verifier, error) {
	key := &publicKey{}
	if status := abi.publicKeyNew(uint32(set), encoded, &key.handle); status != statusOK {
		return nil, ErrInternal
	}
	runtime.AddCleanup(key, abi.publicKeyFree, key.handle)
	return key, nil
}

func (k *publicKey) verify(message, context, signature []byte) bool {
	status := abi.verify(k.handle, message, context, signature)
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

func (k *privateKey) sign(message, context []byte, randomness *[32]byte) ([]byte, error) {
	signature := make([]byte, k.set.SignatureSize())
	status := abi.sign(k.handle, message, context, randomness, signature)
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

func ownCommittee(handle unsafe.Pointer) *committee {
	c := &committee{handle}
	runtime.AddCleanup(c, abi.committeeFree, handle)
	return c
}

func newMembers(set Set, context []byte, epoch uint64, keys []byte, weights []uint64) (members, error) {
	var handle unsafe.Pointer
	status := abi.committeeNew(uint32(set), context, epoch, keys, weights, &handle)
	if status != statusOK {
		return nil, ErrCommittee
	}
	return ownCommittee(handle), nil
}

func (c *committee) successor(epoch uint64, keys []byte, weights []uint64) (members, error) {
	var handle unsafe.Pointer
	status := abi.committeeSuccessor(c.handle, epoch, keys, weights, &handle)
	runtime.KeepAlive(c)
	if status != statusOK {
		return nil, ErrCommittee
	}
	return ownCommittee(handle), nil
}

func (c *committee) verify(data []byte, votes []packed, verdicts []bool) {
	out := make([]byte, len(votes))
	status := abi.committeeVerify(c.handle, data, votes, out)
	runtime.KeepAlive(c)
	if status != statusOK && status != statusRejected {
		return
	}
	for i, verdict := range out {
		verdicts[i] = verdict == verdictValid
	}
}
