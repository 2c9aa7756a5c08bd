//go:build mldsa_cgo || mldsa_purego

package mldsa

import (
	"bytes"
	"runtime"
	"sync"
	"sync/atomic"
	"unsafe"
)

// Numbers of mldsa.h.
const (
	abiVersion         = 2
	statusOK           = 0
	statusMember       = 32
	statusRejected     = 40
	statusDuplicate    = 43
	statusConflicting  = 44
	statusInsufficient = 45
	verdictValid       = 1
	threadsCalling     = 1
	anySet             = 1
)

// allForms says that HashML-DSA and message representatives are available.
const allForms = true

// verifiesItself says that a new private key verifies its signatures without being told.
const verifiesItself = true

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

// NativeKeys returns how many expanded public keys the library holds for this process, outside of
// Go's memory: those of Prepare and of caches, 20, 36 or 64 KiB each.
func NativeKeys() int { return int(expandedKeys.Load()) }

var expandedKeys atomic.Int64

// held is an expanded public key of the library, if there is one. Nobody waits for a verification:
// what was released is freed after its last one.
type held struct {
	making  sync.Mutex
	current atomic.Pointer[expandedKey]
}

// expandedKey is a handle of the library, freed when nobody refers to it.
type expandedKey struct {
	handle unsafe.Pointer
	// references counts the verifications under the key, and held.current.
	references atomic.Int64
	cleanup    runtime.Cleanup
	// The runtime searches the cleanups of a span one by one: a larger object has fewer neighbours.
	_ [28]uint64
}

func freeExpanded(handle unsafe.Pointer) {
	abi.publicKeyFree(handle)
	expandedKeys.Add(-1)
}

// acquire returns the expanded key with one more reference, or nil.
func (h *held) acquire() *expandedKey {
	for {
		key := h.current.Load()
		if key == nil {
			return nil
		}
		// A key without references is being freed, and no longer the current one.
		if n := key.references.Load(); n > 0 && key.references.CompareAndSwap(n, n+1) {
			return key
		}
	}
}

// drop removes one reference.
func (e *expandedKey) drop() {
	if e.references.Add(-1) == 0 {
		e.cleanup.Stop()
		freeExpanded(e.handle)
		// Until the cleanup is stopped, the collector must not call it.
		runtime.KeepAlive(e)
	}
}

// verify uses the expanded key or a handle of its own.
func (h *held) verify(key *PublicKey, in input, signature []byte) bool {
	if expanded := h.acquire(); expanded != nil {
		defer expanded.drop()
		return verifyWith(expanded.handle, in, signature)
	}
	handle := newHandle(key)
	if handle == nil {
		return false
	}
	defer abi.publicKeyFree(handle)
	return verifyWith(handle, in, signature)
}

// newHandle is nil if the library fails.
func newHandle(key *PublicKey) (handle unsafe.Pointer) {
	encoded := unsafe.Slice(unsafe.StringData(key.encoded), len(key.encoded))
	abi.publicKeyNew(uint32(key.set), encoded, &handle)
	return handle
}

func verifyWith(handle unsafe.Pointer, in input, signature []byte) bool {
	switch {
	case in.mu:
		return abi.verifyMu(handle, in.message, signature) == statusOK
	case in.preHash != 0:
		return abi.verifyPreHashed(handle, uint32(in.preHash), in.message, in.context, signature) == statusOK
	}
	return abi.verify(handle, in.message, in.context, signature) == statusOK
}

// decodes reports whether length and hint of a signature are right. The library decodes it again where
// it is verified: Go's collector does not count memory of the library.
func decodes(set Set, signature []byte) bool {
	var handle unsafe.Pointer
	status := abi.signatureDecode(uint32(set), signature, &handle)
	abi.signatureFree(handle)
	return status == statusOK
}

func (h *held) prepare(key *PublicKey) {
	h.making.Lock()
	defer h.making.Unlock()
	if h.current.Load() != nil {
		return
	}
	handle := newHandle(key)
	if handle == nil {
		return
	}
	abi.publicKeyPrepare(handle)
	expandedKeys.Add(1)
	expanded := &expandedKey{handle: handle}
	expanded.references.Store(1)
	// For keys that nobody releases.
	expanded.cleanup = runtime.AddCleanup(expanded, freeExpanded, handle)
	h.current.Store(expanded)
}

func (h *held) release() {
	if expanded := h.current.Swap(nil); expanded != nil {
		expanded.drop()
	}
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
		return nil, keyReason(status, nil)
	}
	return ownPrivateKey(set, handle), nil
}

// pemPlace has the layout of mldsa_pem_place.
type pemPlace struct {
	line, column uint64
	label        [72]byte
}

// keyReason is the error of a status for a key.
func keyReason(status int32, place *pemPlace) error {
	const firstOfPEM = 48
	words := [...]string{"missing", "several", "boundary", "label", "end", "end-label", "headers", "base64", "padding"}
	if n := int(status) - firstOfPEM; place != nil && n >= 0 && n < len(words) {
		label, _, _ := bytes.Cut(place.label[:], []byte{0})
		return &PEMError{words[n], int(place.line), int(place.column), string(label)}
	}
	reason, known := map[int32]error{
		6: ErrKeySize, 19: ErrSecretRange, 20: ErrInconsistent, 21: ErrPrivate, 22: ErrSet, 24: ErrStructure,
		25: ErrAlgorithmParameters, 27: ErrConstantK, 28: ErrVersion, 29: ErrAttributes, 30: ErrForm,
	}[status]
	if !known {
		return ErrInternal
	}
	return reason
}

func parseSPKI(data []byte) (*PublicKey, error) {
	var handle unsafe.Pointer
	var place pemPlace
	if status := abi.publicKeyFromSPKI(data, &handle, &place); status != statusOK {
		return nil, keyReason(status, &place)
	}
	defer abi.publicKeyFree(handle)
	set := Set(abi.publicKeySet(handle))
	encoded := make([]byte, set.PublicKeySize())
	if abi.publicKeyBytes(handle, encoded) != statusOK {
		return nil, ErrInternal
	}
	return ParsePublicKey(set, encoded)
}

func parsePKCS8(data []byte) (*PrivateKey, error) {
	var handle unsafe.Pointer
	var place pemPlace
	if status := abi.privateKeyFromPKCS8(data, &handle, &place); status != statusOK {
		return nil, keyReason(status, &place)
	}
	set := Set(abi.privateKeySet(handle))
	return newPrivateKey(set, ownPrivateKey(set, handle), nil)
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
	if status != statusOK {
		return nil, ErrInternal
	}
	return signature, nil
}

func (k *privateKey) setSelfVerification(_ *PublicKey, on bool) {
	number := uint32(0)
	if on {
		number = 1
	}
	abi.privateKeySetSelfVerification(k.handle, number)
	runtime.KeepAlive(k)
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

// maxBatchKeys is the memory for expanded keys of batches, for each parameter set.
const maxBatchKeys = 64 << 20

// batches is the verifier of batches of any set, made at the first batch. It expands keys that sign
// again, in its own bounded memory.
var batches = sync.OnceValue(func() (handle unsafe.Pointer) {
	abi.batchNew(anySet, maxBatchKeys, &handle)
	return handle
})

func verifyBatch(b *Batch, verdicts []bool) {
	found := b.room(len(b.parts))
	status := abi.batchVerify(batches(), b.context, b.data, b.parts, found)
	if status != statusOK && status != statusRejected {
		return
	}
	for i, verdict := range found {
		verdicts[i] = verdict == verdictValid
		if key := b.keys[i]; verdicts[i] && key.cache != nil && key.valid.Load() == 0 {
			key.cache.hasSigned(key)
		}
	}
}

// committeeOptions has the layout of mldsa_committee_options.
type committeeOptions struct {
	epoch                                uint64
	set, threads, numerator, denominator uint32
}

// quorumResult has the layout of mldsa_quorum.
type quorumResult struct {
	weight, vote uint64
	reason       int32
	_            int32
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

func newVotesVerifier(c *Committee) (votesVerifier, error) {
	var handle unsafe.Pointer
	keys, weights := concatenated(c.members)
	options := committeeOptions{
		c.epoch, uint32(c.set), threadsCalling, c.threshold.Numerator, c.threshold.Denominator,
	}
	status := abi.committeeNew(&options, c.context, keys, weights, &handle)
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

// maxVotesData is the most bytes of votes for one call of the library. Tests change it.
var maxVotesData uint64 = maxPooled / 2

func (c *committee) verify(of *Committee, votes []Vote, valid []bool) {
	b := pooled.Get().(*buffers)
	defer b.recycle()
	for place, vote := range votes {
		if !of.has(vote.Member) || len(vote.Signature) != of.set.SignatureSize() {
			continue
		}
		if uint64(len(vote.Message))+uint64(len(vote.Signature)) > maxVotesData {
			// Its hash takes longer than all else.
			valid[place] = of.verifyAlone(vote)
			continue
		}
		part, ok := b.pack("", vote.Message, vote.Signature, maxVotesData)
		if !ok {
			c.verifyPacked(b, valid)
			part, _ = b.pack("", vote.Message, vote.Signature, maxVotesData)
		}
		b.places = append(b.places, place)
		b.votes = append(b.votes, packedVote{
			vote.Member, part.message, part.messageSize, part.signature, part.signatureLen,
		})
	}
	c.verifyPacked(b, valid)
}

// verifyPacked writes the verdicts of the packed votes and empties b.
func (c *committee) verifyPacked(b *buffers, valid []bool) {
	if len(b.votes) == 0 {
		return
	}
	verdicts := b.room(len(b.votes))
	status := abi.committeeVerify(c.handle, b.data, b.votes, verdicts)
	runtime.KeepAlive(c)
	if status == statusOK || status == statusRejected {
		for i, verdict := range verdicts {
			valid[b.places[i]] = verdict == verdictValid
		}
	}
	b.reset()
}

// quorum packs the votes for one call of the library.
func (c *committee) quorum(_ *Committee, rule QuorumRule, message []byte, votes []Vote) (uint64, error) {
	b := pooled.Get().(*buffers)
	defer b.recycle()
	for _, vote := range votes {
		part, ok := b.pack("", nil, vote.Signature, maxBatchData)
		if !ok {
			return 0, ErrTooLarge
		}
		b.votes = append(b.votes, packedVote{
			member: vote.Member, signature: part.signature, signatureLen: part.signatureLen,
		})
	}
	var result quorumResult
	status := abi.committeeVerifyQuorum(c.handle, uint32(rule), message, b.data, b.votes, &result)
	runtime.KeepAlive(c)
	reason, known := map[int32]error{
		statusMember: ErrMember, statusDuplicate: ErrDuplicateVote, statusConflicting: ErrConflictingVotes,
		statusRejected: ErrInvalid, statusInsufficient: ErrInsufficientWeight,
	}[status]
	switch {
	case status == statusOK:
		return result.weight, nil
	case !known:
		return 0, ErrInternal
	case status == statusInsufficient:
		return 0, &QuorumError{-1, reason}
	}
	return 0, &QuorumError{int(result.vote), reason}
}
