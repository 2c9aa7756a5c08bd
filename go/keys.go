package mldsa

import (
	"crypto"
	"crypto/rand"
	"crypto/subtle"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
)

// PublicKey is a public key that was checked for its size.
type PublicKey struct {
	set     Set
	encoded string
	native  verifier
	// batched is set after the first valid signature in a batch.
	batched atomic.Bool
	// expand expands the key once.
	expand sync.Once
	// cached is set for keys of a Keys cache, which are expanded after their second valid signature.
	cached bool
	valid  atomic.Uint32
}

// verifier is what an implementation holds for a public key.
type verifier interface {
	verify(in input, signature []byte) bool
	// prepare expands the key for later verifications.
	prepare()
}

// ParsePublicKey makes a public key from its encoding, which is copied.
func ParsePublicKey(set Set, encoded []byte) (*PublicKey, error) {
	if set.PublicKeySize() == 0 {
		return nil, ErrSet
	}
	if len(encoded) != set.PublicKeySize() {
		return nil, ErrKeySize
	}
	key := &PublicKey{set: set, encoded: string(encoded)}
	var err error
	key.native, err = newVerifier(set, encoded)
	return key, err
}

// Set returns the parameter set.
func (k *PublicKey) Set() Set { return k.set }

// Bytes returns a copy of the encoding.
func (k *PublicKey) Bytes() []byte { return []byte(k.encoded) }

// MarshalBinary returns a copy of the encoding. It implements encoding.BinaryMarshaler.
func (k *PublicKey) MarshalBinary() ([]byte, error) { return k.Bytes(), nil }

// Equal reports whether other is a *PublicKey of the same set and bytes.
func (k *PublicKey) Equal(other crypto.PublicKey) bool {
	o, ok := other.(*PublicKey)
	return ok && o != nil && k.set == o.set && k.encoded == o.encoded
}

// Verify reports whether signature is valid for message and context. Any input is allowed.
func (k *PublicKey) Verify(message, context, signature []byte) bool {
	if len(context) > MaxContext || len(signature) != k.set.SignatureSize() {
		return false
	}
	if !k.native.verify(input{message: message, context: context}, signature) {
		return false
	}
	if k.cached && k.valid.Load() < 2 && k.valid.Add(1) == 2 {
		k.Prepare()
	}
	return true
}

// VerifyWithOptions returns nil for a valid signature and ErrInvalid for another one of the right
// size. Other errors are those of opts, message and size; Options.Deterministic is not read.
func (k *PublicKey) VerifyWithOptions(message, signature []byte, opts *Options) error {
	in, err := opts.input(k.set, message)
	if err != nil {
		return err
	}
	if len(signature) != k.set.SignatureSize() {
		return ErrSignature
	}
	if !k.native.verify(in, signature) {
		return ErrInvalid
	}
	return nil
}

// Prepare expands the key, which makes verification several times faster and takes 20, 36 or 64
// KiB until the key is collected. Later calls, and calls on copies, return immediately.
func (k *PublicKey) Prepare() *Prepared {
	k.expand.Do(k.native.prepare)
	return &Prepared{k}
}

// Prepared is an expanded public key.
type Prepared struct{ *PublicKey }

// PrivateKey is a private key. It implements crypto.Signer.
type PrivateKey struct {
	public *PublicKey
	native signer
}

// signer is what an implementation holds for a private key.
type signer interface {
	// sign is deterministic with a randomness of zeros.
	sign(in input, randomness *[32]byte) ([]byte, error)
	seed() ([]byte, error)
	expanded() ([]byte, error)
	publicKey() ([]byte, error)
}

// GenerateKey makes a private key from the operating system's generator.
func GenerateKey(set Set) (*PrivateKey, error) {
	var seed [SeedSize]byte
	defer clear(seed[:])
	// Never fails: crypto/rand ends the program instead.
	rand.Read(seed[:])
	return NewPrivateKey(set, seed[:])
}

// NewPrivateKey makes a private key from its seed.
func NewPrivateKey(set Set, seed []byte) (*PrivateKey, error) {
	if set.PublicKeySize() == 0 {
		return nil, ErrSet
	}
	if len(seed) != SeedSize {
		return nil, ErrKeySize
	}
	native, err := signerFromSeed(set, seed)
	return newPrivateKey(set, native, err)
}

// ParsePrivateKey makes a private key from its expanded encoding. Every part is checked.
func ParsePrivateKey(set Set, expanded []byte) (*PrivateKey, error) {
	if set.PublicKeySize() == 0 {
		return nil, ErrSet
	}
	if len(expanded) != set.ExpandedKeySize() {
		return nil, ErrKeySize
	}
	native, err := signerFromExpanded(set, expanded)
	return newPrivateKey(set, native, err)
}

func newPrivateKey(set Set, native signer, err error) (*PrivateKey, error) {
	if err != nil {
		return nil, err
	}
	encoded, err := native.publicKey()
	if err != nil {
		return nil, err
	}
	public, err := ParsePublicKey(set, encoded)
	if err != nil {
		return nil, err
	}
	return &PrivateKey{public, native}, nil
}

// Public returns the *PublicKey.
func (k *PrivateKey) Public() crypto.PublicKey { return k.public }

// PublicKey returns the public key.
func (k *PrivateKey) PublicKey() *PublicKey { return k.public }

// Set returns the parameter set.
func (k *PrivateKey) Set() Set { return k.public.set }

// Sign signs the message itself, or what the Options say. random is read for hedged signing; nil is
// crypto/rand. opts is nil, an *Options, or another value whose HashFunc returns 0.
func (k *PrivateKey) Sign(random io.Reader, message []byte, opts crypto.SignerOpts) ([]byte, error) {
	options, ok := opts.(*Options)
	if opts != nil && !ok && opts.HashFunc() != 0 {
		return nil, ErrOptions
	}
	in, err := options.input(k.Set(), message)
	if err != nil {
		return nil, err
	}
	var randomness [32]byte
	if options == nil || !options.Deterministic {
		if random == nil {
			random = rand.Reader
		}
		if _, err := io.ReadFull(random, randomness[:]); err != nil {
			return nil, fmt.Errorf("mldsa: randomness: %w", err)
		}
	}
	return k.native.sign(in, &randomness)
}

// Seed returns the seed, or ErrNoSeed for a key that was parsed from its expanded encoding.
func (k *PrivateKey) Seed() ([]byte, error) { return k.native.seed() }

// Expanded returns the expanded encoding.
func (k *PrivateKey) Expanded() ([]byte, error) { return k.native.expanded() }

// MarshalBinary returns the expanded encoding. It implements encoding.BinaryMarshaler.
func (k *PrivateKey) MarshalBinary() ([]byte, error) { return k.Expanded() }

// Equal reports whether other is a *PrivateKey with the same expanded encoding, in constant time.
func (k *PrivateKey) Equal(other crypto.PrivateKey) bool {
	o, ok := other.(*PrivateKey)
	if !ok || o == nil || k.Set() != o.Set() {
		return false
	}
	a, errA := k.Expanded()
	b, errB := o.Expanded()
	defer clear(a)
	defer clear(b)
	return errA == nil && errB == nil && subtle.ConstantTimeCompare(a, b) == 1
}
