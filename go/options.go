package mldsa

import "crypto"

// Options select the form of a signature. The zero value, and nil, are pure ML-DSA with the empty
// context.
type Options struct {
	// Context of the signature, at most 255 bytes.
	Context []byte
	// Deterministic signing, for messages whose signature must not change.
	Deterministic bool
	// PreHash makes a HashML-DSA signature: the message is a digest of this hash.
	PreHash PreHash
	// Mu says that the message is a message representative of 64 bytes, see Mu. Context is empty.
	Mu bool
}

// HashFunc returns 0: the parameter set hashes what is passed.
func (*Options) HashFunc() crypto.Hash { return 0 }

// input is what is signed: a message, a digest or a message representative.
type input struct {
	message, context []byte
	preHash          PreHash
	mu               bool
}

// input checks everything that does not depend on keys and signatures.
func (o *Options) input(set Set, message []byte) (input, error) {
	if o == nil {
		return input{message: message}, nil
	}
	in := input{message, o.Context, o.PreHash, o.Mu}
	if len(o.Context) > MaxContext {
		return in, ErrContext
	}
	if o.Mu {
		if o.PreHash != 0 || len(o.Context) != 0 {
			return in, ErrOptions
		}
		if len(message) != MuSize {
			return in, ErrDigest
		}
	}
	if o.PreHash != 0 {
		if o.PreHash.Size() == 0 {
			return in, ErrOptions
		}
		if len(message) != o.PreHash.Size() {
			return in, ErrDigest
		}
		if o.PreHash.strength() < set.strength() {
			return in, ErrWeakPreHash
		}
	}
	if (o.Mu || o.PreHash != 0) && !allForms {
		return in, ErrUnsupported
	}
	return in, nil
}

// PreHash is a hash of HashML-DSA: the last number of its object identifier.
type PreHash uint32

// The hashes of HashML-DSA. SHAKE128 and SHAKE256 have digests of 32 and 64 bytes.
const (
	SHA2_256     PreHash = 1
	SHA2_384     PreHash = 2
	SHA2_512     PreHash = 3
	SHA2_224     PreHash = 4
	SHA2_512_224 PreHash = 5
	SHA2_512_256 PreHash = 6
	SHA3_224     PreHash = 7
	SHA3_256     PreHash = 8
	SHA3_384     PreHash = 9
	SHA3_512     PreHash = 10
	SHAKE128     PreHash = 11
	SHAKE256     PreHash = 12
)

// Size returns the size of the digest in bytes; 0 for an unknown hash.
func (h PreHash) Size() int {
	switch h {
	case SHA2_224, SHA2_512_224, SHA3_224:
		return 28
	case SHA2_256, SHA2_512_256, SHA3_256, SHAKE128:
		return 32
	case SHA2_384, SHA3_384:
		return 48
	case SHA2_512, SHA3_512, SHAKE256:
		return 64
	}
	return 0
}

// strength is the collision strength in bits.
func (h PreHash) strength() int { return 4 * h.Size() }
