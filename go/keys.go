package mldsa

import (
	"bytes"
	"crypto"
	"crypto/rand"
	"crypto/sha3"
	"crypto/subtle"
	"fmt"
	"io"
	"sync/atomic"
)

// PublicKey is a public key that was checked for its size. The zero value verifies nothing.
type PublicKey struct {
	set     Set
	encoded string
	// native is what the implementation holds for later verifications, if anything.
	native atomic.Pointer[held]
	// cache takes the key after its first valid signature; nil for a key outside of caches.
	cache *Keys
	// valid counts valid signatures, up to two.
	valid atomic.Uint32
}

// ParsePublicKey makes a public key from its encoding, which is copied. A joined private key of
// ML-DSA-44, which has the size of a public key of ML-DSA-87, is ErrPrivate.
func ParsePublicKey(set Set, encoded []byte) (*PublicKey, error) {
	if set.PublicKeySize() == 0 {
		return nil, ErrSet
	}
	if len(encoded) != set.PublicKeySize() {
		return nil, ErrKeySize
	}
	if isJoinedPrivateKey(encoded) {
		return nil, ErrPrivate
	}
	key := new(PublicKey)
	key.become(set, string(encoded))
	return key, nil
}

// become makes a key of the zero value.
func (k *PublicKey) become(set Set, encoded string) {
	k.set, k.encoded = set, encoded
	k.native.Store(&held{})
}

// isJoinedPrivateKey reports whether bytes are a seed of ML-DSA-44 and the expanded key that it
// gives, without a structure: the first 32 bytes of the expanded key come from the seed.
func isJoinedPrivateKey(bytes []byte) bool {
	if len(bytes) != SeedSize+MLDSA44.ExpandedKeySize() {
		return false
	}
	const rows, columns = 4, 4
	hash := sha3.NewSHAKE256()
	hash.Write(bytes[:SeedSize])
	hash.Write([]byte{rows, columns})
	var rho [32]byte
	hash.Read(rho[:])
	return subtle.ConstantTimeCompare(rho[:], bytes[SeedSize:][:32]) == 1
}

// Set returns the parameter set; 0 for the zero value.
func (k *PublicKey) Set() Set {
	if k == nil {
		return 0
	}
	return k.set
}

// Bytes returns a copy of the encoding.
func (k *PublicKey) Bytes() []byte {
	if k == nil {
		return nil
	}
	return []byte(k.encoded)
}

// MarshalBinary returns a copy of the encoding. It implements encoding.BinaryMarshaler.
func (k *PublicKey) MarshalBinary() ([]byte, error) {
	if k.Set() == 0 {
		return nil, ErrKey
	}
	return k.Bytes(), nil
}

// UnmarshalBinary makes a key of the zero value from its encoding, whose size tells the parameter set.
// Another value is ErrInUse, because committees and caches share it. It implements
// encoding.BinaryUnmarshaler.
func (k *PublicKey) UnmarshalBinary(encoded []byte) error {
	for _, set := range allSets {
		if len(encoded) == set.PublicKeySize() {
			return k.read(ParsePublicKey(set, encoded))
		}
	}
	return ErrKeySize
}

// read makes a copy of a parsed key of the zero value.
func (k *PublicKey) read(parsed *PublicKey, err error) error {
	switch {
	case err != nil:
		return err
	case k == nil || k.set != 0:
		return ErrInUse
	}
	k.become(parsed.set, parsed.encoded)
	return nil
}

// Equal reports whether other is a *PublicKey of the same set and bytes.
func (k *PublicKey) Equal(other crypto.PublicKey) bool {
	o, ok := other.(*PublicKey)
	return ok && o.Set() != 0 && k.Set() == o.set && k.encoded == o.encoded
}

// Verify reports whether signature is valid for message and context. Any input is allowed.
func (k *PublicKey) Verify(message, context, signature []byte) bool {
	if k.Set() == 0 || len(context) > MaxContext || len(signature) != k.set.SignatureSize() {
		return false
	}
	return k.verify(input{message: message, context: context}, signature)
}

// DecodedSignature is a copy of a signature whose length and hint are right: the second of three steps
// for hosts that charge for each of them. The first one is ParsePublicKey and Prepare, the third one
// VerifyDecoded.
type DecodedSignature struct {
	set     Set
	encoded []byte
}

// DecodeSignature decodes a signature. Errors are ErrSet, ErrSignature for another size and ErrInvalid
// for a malformed hint, which VerifyDecoded rejects without the C library.
func DecodeSignature(set Set, signature []byte) (*DecodedSignature, error) {
	switch {
	case set.SignatureSize() == 0:
		return nil, ErrSet
	case len(signature) != set.SignatureSize():
		return nil, ErrSignature
	case !decodes(set, signature):
		return nil, ErrInvalid
	}
	return &DecodedSignature{set, bytes.Clone(signature)}, nil
}

// VerifyDecoded reports what Verify does. A nil signature and one of another set are not valid.
func (k *PublicKey) VerifyDecoded(message, context []byte, signature *DecodedSignature) bool {
	return signature != nil && k.Set() == signature.set && k.Verify(message, context, signature.encoded)
}

func (k *PublicKey) verify(in input, signature []byte) bool {
	if !k.native.Load().verify(k, in, signature) {
		return false
	}
	if k.cache != nil && k.valid.Load() < 2 {
		k.cache.hasSigned(k)
	}
	return true
}

// VerifyWithOptions returns nil for a valid signature and ErrInvalid for another one of the right
// size. Other errors are those of opts, message and size; Options.Deterministic is not read.
func (k *PublicKey) VerifyWithOptions(message, signature []byte, opts *Options) error {
	if k.Set() == 0 {
		return ErrKey
	}
	in, err := opts.input(k.set, message)
	if err != nil {
		return err
	}
	if len(signature) != k.set.SignatureSize() {
		return ErrSignature
	}
	if !k.verify(in, signature) {
		return ErrInvalid
	}
	return nil
}

// Prepare expands the key, which makes verification several times faster and takes 20, 36 or 64
// KiB until Release. Later calls return immediately.
func (k *PublicKey) Prepare() *Prepared {
	if k.Set() != 0 {
		k.native.Load().prepare(k)
	}
	return &Prepared{k}
}

// Release frees what Prepare made, after the verifications that use it. The key stays usable. A key
// that is not released keeps it until the garbage collector runs, which does not see how much it is. A
// cache releases keys that leave it, and expands a released key again after its next valid signature.
func (k *PublicKey) Release() {
	if k.Set() == 0 {
		return
	}
	native := k.native.Load()
	native.release()
	if k.cache != nil {
		k.cache.wasReleased(k, native)
	}
}

// Prepared is an expanded public key.
type Prepared struct{ *PublicKey }

// PrivateKey is a private key. It implements crypto.Signer. Each signature is verified before it is
// released, against faults of the machine. No verb of fmt prints a part of it, and packages that encode
// values (JSON, text, binary, gob) get ErrSecret. The zero value signs nothing.
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
	// setSelfVerification turns the verification of signatures before their release on or off.
	setSelfVerification(key *PublicKey, on bool)
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

// ParsePrivateKey makes a private key from its expanded encoding. Every part is checked: errors are
// ErrKeySize, ErrSecretRange, ErrConstantK and ErrInconsistent.
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
	if !verifiesItself {
		native.setSelfVerification(public, true)
	}
	return &PrivateKey{public, native}, nil
}

// Public returns the *PublicKey.
func (k *PrivateKey) Public() crypto.PublicKey { return k.PublicKey() }

// PublicKey returns the public key; nil for the zero value.
func (k *PrivateKey) PublicKey() *PublicKey {
	if k == nil {
		return nil
	}
	return k.public
}

// Set returns the parameter set; 0 for the zero value.
func (k *PrivateKey) Set() Set { return k.PublicKey().Set() }

// SetSelfVerification turns the verification of each signature before its release off or on again.
// It costs as much as a verification under an unexpanded key. No other method may run meanwhile.
func (k *PrivateKey) SetSelfVerification(on bool) {
	if k.Set() != 0 {
		k.native.setSelfVerification(k.public, on)
	}
}

// Sign signs the message itself, or what the Options say. random is read for hedged signing; nil is
// crypto/rand. opts is nil, an *Options, or another value whose HashFunc returns 0.
func (k *PrivateKey) Sign(random io.Reader, message []byte, opts crypto.SignerOpts) ([]byte, error) {
	if k.Set() == 0 {
		return nil, ErrKey
	}
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
		if subtle.ConstantTimeCompare(randomness[:], make([]byte, 32)) == 1 {
			return nil, ErrRandomness
		}
	}
	return k.native.sign(in, &randomness)
}

// Seed returns the seed, or ErrNoSeed for a key that was parsed from its expanded encoding.
func (k *PrivateKey) Seed() ([]byte, error) {
	if k.Set() == 0 {
		return nil, ErrKey
	}
	return k.native.seed()
}

// Expanded returns the expanded encoding.
func (k *PrivateKey) Expanded() ([]byte, error) {
	if k.Set() == 0 {
		return nil, ErrKey
	}
	return k.native.expanded()
}

// Equal reports whether other is a *PrivateKey with the same expanded encoding, in constant time.
func (k *PrivateKey) Equal(other crypto.PrivateKey) bool {
	o, ok := other.(*PrivateKey)
	if !ok || k.Set() == 0 || k.Set() != o.Set() {
		return false
	}
	a, errA := k.Expanded()
	b, errB := o.Expanded()
	defer clear(a)
	defer clear(b)
	return errA == nil && errB == nil && subtle.ConstantTimeCompare(a, b) == 1
}
