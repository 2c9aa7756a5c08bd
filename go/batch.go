package mldsa

import (
	"bytes"
	"math"
	"sync"
)

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
	// message and messageSize are where the last packed message is in data.
	message, messageSize uint32
	// Scratch of the verification.
	places   []int
	verdicts []byte
}

// maxPooled is the most bytes of data that are kept for later batches.
const maxPooled = 32 << 20

// maxBatchData is the most bytes of a batch: offsets have 32 bits, and a length is an int. Tests
// change it.
var maxBatchData uint64 = min(math.MaxUint32, math.MaxInt)

var pooled = sync.Pool{New: func() any { return new(buffers) }}

// reset removes everything, and keeps the memory.
func (b *buffers) reset() {
	clear(b.keys)
	b.keys, b.data, b.parts = b.keys[:0], b.data[:0], b.parts[:0]
	b.votes, b.places = b.votes[:0], b.places[:0]
	b.message, b.messageSize = 0, 0
}

// recycle gives b to a later user, unless it is large.
func (b *buffers) recycle() {
	b.reset()
	if cap(b.data) <= maxPooled {
		pooled.Put(b)
	}
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

// pack appends the parts of a signature, of the message only if it is not the last one again; false
// if the data would exceed limit.
func (b *buffers) pack(key string, message, signature []byte, limit uint64) (packedItem, bool) {
	repeated := bytes.Equal(message, b.data[b.message:][:b.messageSize])
	size := uint64(len(b.data)) + uint64(len(key)) + uint64(len(signature))
	if !repeated {
		size += uint64(len(message))
	}
	if size > limit {
		return packedItem{}, false
	}
	if !repeated {
		b.message, b.messageSize = uint32(len(b.data)), uint32(len(message))
		b.data = append(b.data, message...)
	}
	part := packedItem{
		key: uint32(len(b.data)), keyLen: uint32(len(key)),
		message: b.message, messageSize: b.messageSize,
		signature: uint32(len(b.data) + len(key)), signatureLen: uint32(len(signature)),
	}
	b.data = append(append(b.data, key...), signature...)
	return part, true
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

// Add appends a signature. The signature is copied, and the message if it is not that of the signature
// before. The error is ErrTooLarge above 4 GiB of copies, or 2 GiB where an int has 32 bits.
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
	part, ok := b.pack(key.encoded, message, signature, maxBatchData)
	if !ok {
		return ErrTooLarge
	}
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
		b.recycle()
		b.buffers = nil
	}
}
