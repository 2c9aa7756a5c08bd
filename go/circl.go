//go:build !mldsa_cgo && !mldsa_purego

package mldsa

import (
	"bytes"
	"crypto/sha3"
	"crypto/subtle"
	"sync/atomic"

	"github.com/cloudflare/circl/sign/mldsa/mldsa44"
	"github.com/cloudflare/circl/sign/mldsa/mldsa65"
	"github.com/cloudflare/circl/sign/mldsa/mldsa87"
)

// Implementation is the name of the implementation in use.
const Implementation = "circl"

// allForms says that HashML-DSA and message representatives are not available: CIRCL does not have
// them.
const allForms = false

// verifiesItself says that a new private key verifies its signatures without being told.
const verifiesItself = false

// NativeKeys returns how many expanded public keys are outside of Go's memory: none.
func NativeKeys() int { return 0 }

// held is a parsed public key of CIRCL, which is always expanded, after the first verification.
type held struct {
	key atomic.Pointer[verifier]
}

func (h *held) verify(key *PublicKey, in input, signature []byte) bool {
	verify := h.prepare(key)
	return verify != nil && verify(in.message, in.context, signature)
}

// decodes leaves the hint to the verification: CIRCL has no decoder.
func decodes(Set, []byte) bool { return true }

// prepare returns the parsed key, which stays usable after a release; nil if CIRCL does not parse it.
func (h *held) prepare(key *PublicKey) verifier {
	if verify := h.key.Load(); verify != nil {
		return *verify
	}
	verify, err := parsed(key.set, []byte(key.encoded))
	if err != nil {
		return nil
	}
	h.key.Store(&verify)
	return verify
}

func (h *held) release() { h.key.Store(nil) }

// verifier verifies signatures under one key.
type verifier func(message, context, signature []byte) bool

func parsed(set Set, encoded []byte) (verifier, error) {
	switch set {
	case MLDSA44:
		var key mldsa44.PublicKey
		err := key.UnmarshalBinary(encoded)
		return func(m, c, s []byte) bool { return mldsa44.Verify(&key, m, c, s) }, err
	case MLDSA65:
		var key mldsa65.PublicKey
		err := key.UnmarshalBinary(encoded)
		return func(m, c, s []byte) bool { return mldsa65.Verify(&key, m, c, s) }, err
	default:
		var key mldsa87.PublicKey
		err := key.UnmarshalBinary(encoded)
		return func(m, c, s []byte) bool { return mldsa87.Verify(&key, m, c, s) }, err
	}
}

// circlSigner is a private key of CIRCL.
type circlSigner struct {
	set    Set
	secret secret
	packed secret
	public []byte
	signTo func(message, context []byte, randomized bool, signature []byte) error
	// verifyWith is the key that verifies signatures before their release; nil if none does.
	verifyWith *PublicKey
}

func signerFromSeed(set Set, seed []byte) (signer, error) {
	xi := [SeedSize]byte(seed)
	s := &circlSigner{set: set, secret: keep(bytes.Clone(seed))}
	switch set {
	case MLDSA44:
		pk, sk := mldsa44.NewKeyFromSeed(&xi)
		s.use44(sk, pk)
	case MLDSA65:
		pk, sk := mldsa65.NewKeyFromSeed(&xi)
		s.use65(sk, pk)
	default:
		pk, sk := mldsa87.NewKeyFromSeed(&xi)
		s.use87(sk, pk)
	}
	return s, nil
}

// signerFromExpanded checks the range of s1 and s2, K and tr. CIRCL has no way to check t0.
func signerFromExpanded(set Set, expanded []byte) (signer, error) {
	if !inRange(set, expanded) {
		return nil, ErrSecretRange
	}
	// Whoever knows K knows the masks of signatures.
	if k := expanded[32:64]; subtle.ConstantTimeCompare(k[1:], k[:31]) == 1 {
		return nil, ErrConstantK
	}
	s := &circlSigner{set: set}
	var err error
	switch set {
	case MLDSA44:
		var sk mldsa44.PrivateKey
		if err = sk.UnmarshalBinary(expanded); err == nil {
			s.use44(&sk, sk.Public().(*mldsa44.PublicKey))
		}
	case MLDSA65:
		var sk mldsa65.PrivateKey
		if err = sk.UnmarshalBinary(expanded); err == nil {
			s.use65(&sk, sk.Public().(*mldsa65.PublicKey))
		}
	default:
		var sk mldsa87.PrivateKey
		if err = sk.UnmarshalBinary(expanded); err == nil {
			s.use87(&sk, sk.Public().(*mldsa87.PublicKey))
		}
	}
	if err != nil {
		return nil, ErrInconsistent
	}
	tr := make([]byte, 64)
	hash := sha3.NewSHAKE256()
	hash.Write(s.public)
	hash.Read(tr)
	if subtle.ConstantTimeCompare(tr, expanded[64:128]) != 1 {
		return nil, ErrInconsistent
	}
	return s, nil
}

// inRange reports whether all coefficients of s1 and s2 are in [-eta, eta]. Constant time.
func inRange(set Set, expanded []byte) bool {
	polynomials, bits, most := 8, 3, 4
	switch set {
	case MLDSA65:
		polynomials, bits, most = 11, 4, 8
	case MLDSA87:
		polynomials = 15
	}
	fields := expanded[128:][:polynomials*32*bits]
	bad, buffer, have := 0, 0, 0
	for _, b := range fields {
		buffer |= int(b) << have
		for have += 8; have >= bits; have -= bits {
			bad |= most - buffer&(1<<bits-1)
			buffer >>= bits
		}
	}
	return bad >= 0
}

func (s *circlSigner) use44(sk *mldsa44.PrivateKey, pk *mldsa44.PublicKey) {
	s.packed, s.public = keep(sk.Bytes()), pk.Bytes()
	s.signTo = func(m, c []byte, r bool, out []byte) error { return mldsa44.SignTo(sk, m, c, r, out) }
}

func (s *circlSigner) use65(sk *mldsa65.PrivateKey, pk *mldsa65.PublicKey) {
	s.packed, s.public = keep(sk.Bytes()), pk.Bytes()
	s.signTo = func(m, c []byte, r bool, out []byte) error { return mldsa65.SignTo(sk, m, c, r, out) }
}

func (s *circlSigner) use87(sk *mldsa87.PrivateKey, pk *mldsa87.PublicKey) {
	s.packed, s.public = keep(sk.Bytes()), pk.Bytes()
	s.signTo = func(m, c []byte, r bool, out []byte) error { return mldsa87.SignTo(sk, m, c, r, out) }
}

// sign passes on whether the signature is deterministic; CIRCL reads crypto/rand otherwise.
func (s *circlSigner) sign(in input, randomness *[32]byte) ([]byte, error) {
	signature := make([]byte, s.set.SignatureSize())
	err := s.signTo(in.message, in.context, *randomness != [32]byte{}, signature)
	if err == nil && s.verifyWith != nil && !s.verifyWith.Verify(in.message, in.context, signature) {
		clear(signature)
		err = ErrInternal
	}
	if err != nil {
		return nil, err
	}
	return signature, nil
}

func (s *circlSigner) setSelfVerification(key *PublicKey, on bool) {
	s.verifyWith = nil
	if on {
		s.verifyWith = key
	}
}

func (s *circlSigner) seed() ([]byte, error) {
	if s.secret == nil {
		return nil, ErrNoSeed
	}
	return bytes.Clone(s.secret()), nil
}

func (s *circlSigner) expanded() ([]byte, error)  { return bytes.Clone(s.packed()), nil }
func (s *circlSigner) publicKey() ([]byte, error) { return s.public, nil }

// verifyBatch verifies one by one: CIRCL has no batches.
func verifyBatch(b *Batch, verdicts []bool) {
	for i, part := range b.parts {
		message := b.data[part.message:][:part.messageSize]
		signature := b.data[part.signature:][:part.signatureLen]
		verdicts[i] = b.keys[i].Verify(message, b.context, signature)
	}
}

// circlVotes verifies the votes of a committee one by one.
type circlVotes struct{}

func newVotesVerifier(*Committee) (votesVerifier, error) { return circlVotes{}, nil }

func (v circlVotes) successor(*Committee, []Member) (votesVerifier, error) { return v, nil }

func (circlVotes) verify(c *Committee, votes []Vote, valid []bool) {
	for i, vote := range votes {
		valid[i] = c.verifyAlone(vote)
	}
}
