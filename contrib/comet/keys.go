// Package comet has ML-DSA keys and a batch verifier for CometBFT v0.40.0. Keys of ML-DSA-65 are
// byte-compatible with its crypto/mldsa65: encodings, JSON, addresses, empty context, deterministic
// signatures.
package comet

import (
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"

	"github.com/cometbft/cometbft/crypto"
	"github.com/cometbft/cometbft/crypto/tmhash"
	"mldsa.example/go"
)

// Errors of parsing.
var (
	ErrPubKeySize  = errors.New("mldsa: invalid public key size")
	ErrPrivKeySize = errors.New("mldsa: invalid private key size")
	ErrPrivKey     = errors.New("mldsa: invalid private key")
	ErrKeyType     = errors.New("mldsa: key of another type")
)

var (
	_ crypto.PubKey        = PubKey{}
	_ crypto.PrivKey       = PrivKey{}
	_ crypto.BatchVerifier = (*BatchVerifier)(nil)
)

// Public keys are parsed again for each message from the network. Those that have signed are cached.
var keys = mldsa.NewKeys(2048)

// KeyType returns the name of a key type in CometBFT.
func KeyType(set mldsa.Set) string { return fmt.Sprintf("ml_dsa_%d", uint32(set)) }

// PubKey is a public key. The zero value verifies nothing.
type PubKey struct{ key *mldsa.PublicKey }

// NewPubKey makes a public key from its encoding.
func NewPubKey(set mldsa.Set, encoded []byte) (PubKey, error) {
	key, err := keys.Parse(set, encoded)
	if err != nil {
		return PubKey{}, ErrPubKeySize
	}
	return PubKey{key}, nil
}

// Address returns the first 20 bytes of the SHA-256 hash of the encoding.
func (k PubKey) Address() crypto.Address { return tmhash.SumTruncated(k.Bytes()) }

// Bytes returns the encoding.
func (k PubKey) Bytes() []byte {
	if k.key == nil {
		return nil
	}
	return k.key.Bytes()
}

// VerifySignature reports whether sig is valid for msg with the empty context. A key is expanded
// after its second valid signature.
func (k PubKey) VerifySignature(msg, sig []byte) bool {
	return k.key != nil && k.key.Verify(msg, nil, sig)
}

// Equals reports whether other is a PubKey with the same bytes.
func (k PubKey) Equals(other crypto.PubKey) bool {
	o, ok := other.(PubKey)
	if !ok || k.key == nil || o.key == nil {
		return ok && k.key == o.key
	}
	return k.key.Equal(o.key)
}

// Type returns the key type, ml_dsa_65 for the zero value.
func (k PubKey) Type() string {
	if k.key == nil {
		return KeyType(mldsa.MLDSA65)
	}
	return KeyType(k.key.Set())
}

// String returns the encoding in hexadecimal digits.
func (k PubKey) String() string {
	return fmt.Sprintf("PubKeyMlDsa%s{%X}", k.Type()[len("ml_dsa_"):], k.Bytes())
}

// MarshalJSON writes the encoding as base64 text.
func (k PubKey) MarshalJSON() ([]byte, error) { return json.Marshal(k.Bytes()) }

// UnmarshalJSON reads a key, whose size tells its parameter set.
func (k *PubKey) UnmarshalJSON(text []byte) error {
	var encoded []byte
	if err := json.Unmarshal(text, &encoded); err != nil {
		return err
	}
	for _, set := range []mldsa.Set{mldsa.MLDSA44, mldsa.MLDSA65} {
		if len(encoded) == set.PublicKeySize() {
			key, err := NewPubKey(set, encoded)
			*k = key
			return err
		}
	}
	return ErrPubKeySize
}

// PrivKey is a private key. Each signature is verified before it is released. The zero value signs
// nothing.
type PrivKey struct{ key *mldsa.PrivateKey }

// GenPrivKey makes a private key from the operating system's generator.
func GenPrivKey(set mldsa.Set) (PrivKey, error) {
	key, err := mldsa.GenerateKey(set)
	return PrivKey{key}, err
}

// NewPrivKeyFromSeed makes a private key from its 32-byte seed.
func NewPrivKeyFromSeed(set mldsa.Set, seed []byte) (PrivKey, error) {
	key, err := mldsa.NewPrivateKey(set, seed)
	return PrivKey{key}, err
}

// NewPrivKey makes a private key from its expanded encoding. Every part is checked.
func NewPrivKey(set mldsa.Set, expanded []byte) (PrivKey, error) {
	if len(expanded) != set.ExpandedKeySize() {
		return PrivKey{}, ErrPrivKeySize
	}
	key, err := mldsa.ParsePrivateKey(set, expanded)
	if err != nil {
		return PrivKey{}, ErrPrivKey
	}
	return PrivKey{key}, nil
}

// Bytes returns the expanded encoding.
func (k PrivKey) Bytes() []byte {
	if k.key == nil {
		return nil
	}
	expanded, err := k.key.Expanded()
	if err != nil {
		panic(err)
	}
	return expanded
}

// Sign returns the deterministic signature with the empty context.
func (k PrivKey) Sign(msg []byte) ([]byte, error) {
	if k.key == nil {
		return nil, ErrPrivKey
	}
	return k.key.Sign(nil, msg, &mldsa.Options{Deterministic: true})
}

// PubKey returns the public key, from the cache if it has signed; the zero value's is the zero value.
func (k PrivKey) PubKey() crypto.PubKey {
	if k.key == nil {
		return PubKey{}
	}
	key, err := NewPubKey(k.key.Set(), k.key.PublicKey().Bytes())
	if err != nil {
		panic(err)
	}
	return key
}

// Equals reports whether other is a PrivKey with the same bytes.
func (k PrivKey) Equals(other crypto.PrivKey) bool {
	o, ok := other.(PrivKey)
	return ok && subtle.ConstantTimeCompare(k.Bytes(), o.Bytes()) == 1
}

// Type returns the key type, ml_dsa_65 for the zero value.
func (k PrivKey) Type() string {
	if k.key == nil {
		return KeyType(mldsa.MLDSA65)
	}
	return KeyType(k.key.Set())
}

// String returns the names of the type and of the parameter set: nothing of the key.
func (k PrivKey) String() string { return fmt.Sprintf("PrivKey(%s)", k.Type()) }

// Format writes what String returns, for every verb. It implements fmt.Formatter.
func (k PrivKey) Format(state fmt.State, _ rune) { fmt.Fprint(state, k.String()) }

// LogValue returns what String returns. It implements slog.LogValuer.
func (k PrivKey) LogValue() slog.Value { return slog.StringValue(k.String()) }

// MarshalJSON writes the expanded encoding as base64 text, for the key files of CometBFT.
func (k PrivKey) MarshalJSON() ([]byte, error) { return json.Marshal(k.Bytes()) }

// UnmarshalJSON reads a key, whose size tells its parameter set.
func (k *PrivKey) UnmarshalJSON(text []byte) error {
	var expanded []byte
	if err := json.Unmarshal(text, &expanded); err != nil {
		return err
	}
	defer clear(expanded)
	for _, set := range []mldsa.Set{mldsa.MLDSA44, mldsa.MLDSA65} {
		if len(expanded) == set.ExpandedKeySize() {
			key, err := NewPrivKey(set, expanded)
			*k = key
			return err
		}
	}
	return ErrPrivKeySize
}

// BatchVerifier verifies the signatures of a commit in one call. Not safe for concurrent use. The zero
// value takes no signature.
type BatchVerifier struct{ batch *mldsa.Batch }

// NewBatchVerifier makes a verifier of signatures of one parameter set.
func NewBatchVerifier(set mldsa.Set) *BatchVerifier {
	batch, err := mldsa.NewBatch(set, nil)
	if err != nil {
		panic(err)
	}
	return &BatchVerifier{batch}
}

// Add appends a signature.
func (b *BatchVerifier) Add(key crypto.PubKey, msg, sig []byte) error {
	k, ok := key.(PubKey)
	if !ok || b == nil {
		return ErrKeyType
	}
	return b.batch.Add(k.key, msg, sig)
}

// Verify returns whether all signatures are valid, and one verdict for each, and removes them: a
// verifier without signatures returns false.
func (b *BatchVerifier) Verify() (bool, []bool) {
	if b == nil {
		return false, nil
	}
	defer b.batch.Reset()
	return b.batch.Verify()
}
