package mldsa

import "sync"

// Batch collects signatures of one parameter set and verifies them in one call. Each verdict is the
// one that the signature alone would have. Not safe for concurrent use; Reset makes it usable again.
type Batch struct {
	set     Set
	context []byte
	keys    []*PublicKey
	data    []byte
	parts   []packed
	pooled  *[]byte
}

// packed is one signature: offsets into Batch.data. The layout of mldsa_packed_vote.
type packed struct {
	member                  uint32
	message, messageSize    uint32
	signature, signatureLen uint32
}

// Buffers of ended batches: a fresh buffer for each commit costs more than the verification.
var buffers = sync.Pool{New: func() any { return new([]byte) }}

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
	if key == nil || key.set != b.set {
		return ErrMixedSets
	}
	if len(signature) != b.set.SignatureSize() {
		return ErrSignature
	}
	if b.pooled == nil {
		b.pooled = buffers.Get().(*[]byte)
		b.data = (*b.pooled)[:0]
	}
	if uint64(len(b.data))+uint64(len(message))+uint64(len(signature)) > 1<<32-1 {
		return ErrTooLarge
	}
	part := pack(&b.data, message, signature)
	b.parts = append(b.parts, part)
	b.keys = append(b.keys, key)
	return nil
}

func pack(data *[]byte, message, signature []byte) packed {
	part := packed{
		message: uint32(len(*data)), messageSize: uint32(len(message)),
		signature: uint32(len(*data) + len(message)), signatureLen: uint32(len(signature)),
	}
	*data = append(append(*data, message...), signature...)
	return part
}

// Len returns the number of signatures.
func (b *Batch) Len() int { return len(b.parts) }

// Verify returns whether there is a signature and all are valid, and one verdict for each. It may be
// called again.
func (b *Batch) Verify() (bool, []bool) {
	verdicts := make([]bool, len(b.parts))
	if len(b.parts) == 0 {
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
	if b.pooled != nil {
		*b.pooled = b.data[:0]
		buffers.Put(b.pooled)
		b.pooled, b.data = nil, nil
	}
	clear(b.keys)
	b.keys, b.parts = b.keys[:0], b.parts[:0]
}
