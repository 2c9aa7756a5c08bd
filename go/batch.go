package mldsa

import "sync"

// Batch collects signatures of one parameter set and verifies them in one call. Each verdict is the
// one that the signature alone would have. Not safe for concurrent use; Reset makes it usable again.
type Batch struct {
	set     Set
	context []byte
	*buffers
}

// buffers are the growing parts of batches. They are pooled, because fresh ones for each commit cost
// more than the verification.
type buffers struct {
	keys  []*PublicKey
	data  []byte
	parts []packed
	// Scratch of the verification.
	chosen   []packed
	places   []int
	verdicts []byte
}

var pooled = sync.Pool{New: func() any { return new(buffers) }}

// reset removes everything, and keeps the memory.
func (b *buffers) reset() {
	clear(b.keys)
	b.keys, b.data, b.parts = b.keys[:0], b.data[:0], b.parts[:0]
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

// packed is one signature: offsets into buffers.data. The layout of mldsa_packed_vote.
type packed struct {
	member                  uint32
	message, messageSize    uint32
	signature, signatureLen uint32
}

func (p *packed) messageOf(data []byte) []byte   { return data[p.message:][:p.messageSize] }
func (p *packed) signatureOf(data []byte) []byte { return data[p.signature:][:p.signatureLen] }

// pack appends the bytes of a signature; false if the data would exceed 4 GiB.
func (b *buffers) pack(message, signature []byte) (packed, bool) {
	start := uint64(len(b.data))
	if start+uint64(len(message))+uint64(len(signature)) > 1<<32-1 {
		return packed{}, false
	}
	b.data = append(append(b.data, message...), signature...)
	return packed{
		message: uint32(start), messageSize: uint32(len(message)),
		signature: uint32(start) + uint32(len(message)), signatureLen: uint32(len(signature)),
	}, true
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
	if key == nil || key.set != b.set {
		return ErrMixedSets
	}
	if len(signature) != b.set.SignatureSize() {
		return ErrSignature
	}
	if b.buffers == nil {
		b.buffers = pooled.Get().(*buffers)
	}
	part, ok := b.pack(message, signature)
	if !ok {
		return ErrTooLarge
	}
	b.parts = append(b.parts, part)
	b.keys = append(b.keys, key)
	return nil
}

// Len returns the number of signatures.
func (b *Batch) Len() int {
	if b.buffers == nil {
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
	if b.buffers != nil {
		b.reset()
		pooled.Put(b.buffers)
		b.buffers = nil
	}
}
