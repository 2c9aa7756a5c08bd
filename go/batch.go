package mldsa

import "sync"

// Batch collects signatures of one parameter set and verifies them in one call. Each verdict is the
// one that the signature alone would have. Not safe for concurrent use; Reset makes it usable again.
type Batch struct {
	set     Set
	context []byte
	*buffers
}

// buffers are the growing parts of batches and lists of votes. They are pooled, because fresh ones for
// each commit cost more than the verification.
type buffers struct {
	keys  []*PublicKey
	data  []byte
	parts []packedItem
	votes []packedVote
	// Scratch of the verification.
	places   []int
	verdicts []byte
}

var pooled = sync.Pool{New: func() any { return new(buffers) }}

// reset removes everything, and keeps the memory.
func (b *buffers) reset() {
	clear(b.keys)
	b.keys, b.data, b.parts, b.votes = b.keys[:0], b.data[:0], b.parts[:0], b.votes[:0]
}

// room returns a slice of n zero verdicts.
func (b *buffers) room(n int) []byte {
	if cap(b.verdicts) < n {
		b.verdicts = make([]byte, n)
	}
	b.verdicts = b.verdicts[:n]
	clear(b.verdicts)
	return b.verdicts
}

// packedItem is a signature under a key: offsets into buffers.data. The layout of mldsa_packed_item.
type packedItem struct {
	key, keyLen             uint32
	message, messageSize    uint32
	signature, signatureLen uint32
}

// packedVote is a signature of a member. The layout of mldsa_packed_vote.
type packedVote struct {
	member                  uint32
	message, messageSize    uint32
	signature, signatureLen uint32
}

// pack appends the parts of a signature and returns the offset of the first one; false if the data
// would exceed 4 GiB.
func (b *buffers) pack(key string, message, signature []byte) (uint32, bool) {
	start := uint64(len(b.data))
	if start+uint64(len(key))+uint64(len(message))+uint64(len(signature)) > 1<<32-1 {
		return 0, false
	}
	b.data = append(append(append(b.data, key...), message...), signature...)
	return uint32(start), true
}

// NewBatch makes an empty batch of signatures under one context.
func NewBatch(set Set, context []byte) (*Batch, error) {
	if set.PublicKeySize() == 0 {
		return nil, ErrSet
	}
	if len(context) > MaxContext {
		return nil, ErrContext
	}
	return &Batch{set: set, context: append([]byte(nil), context...)}, nil
}

// Add appends a signature. Message and signature are copied.
func (b *Batch) Add(key *PublicKey, message, signature []byte) error {
	if b == nil || b.set == 0 {
		return ErrSet
	}
	if key.Set() != b.set {
		return ErrMixedSets
	}
	if len(signature) != b.set.SignatureSize() {
		return ErrSignature
	}
	if b.buffers == nil {
		b.buffers = pooled.Get().(*buffers)
	}
	start, ok := b.pack(key.encoded, message, signature)
	if !ok {
		return ErrTooLarge
	}
	part := packedItem{
		key: start, keyLen: uint32(len(key.encoded)),
		messageSize: uint32(len(message)), signatureLen: uint32(len(signature)),
	}
	part.message = part.key + part.keyLen
	part.signature = part.message + part.messageSize
	b.parts = append(b.parts, part)
	b.keys = append(b.keys, key)
	return nil
}

// Len returns the number of signatures.
func (b *Batch) Len() int {
	if b == nil || b.buffers == nil {
		return 0
	}
	return len(b.parts)
}

// Verify returns whether there is a signature and all are valid, and one verdict for each. It may be
// called again.
func (b *Batch) Verify() (bool, []bool) {
	verdicts := make([]bool, b.Len())
	if len(verdicts) == 0 {
		return false, verdicts
	}
	verifyBatch(b, verdicts)
	all := true
	for _, valid := range verdicts {
		all = all && valid
	}
	return all, verdicts
}

// Reset removes all signatures.
func (b *Batch) Reset() {
	if b != nil && b.buffers != nil {
		b.reset()
		pooled.Put(b.buffers)
		b.buffers = nil
	}
}
