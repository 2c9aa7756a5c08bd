package mldsa

import (
	"bytes"
	"crypto/sha3"
	"crypto/sha512"
	"io"
	"testing"
)

var _ io.Writer = (*Mu)(nil)

func muOf(t *testing.T, key *PublicKey, context []byte, pieces ...[]byte) []byte {
	t.Helper()
	mu, err := NewMu(key, context)
	if err != nil {
		t.Fatal(err)
	}
	for _, piece := range pieces {
		if _, err := mu.Write(piece); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(mu.Sum(), mu.Sum()) {
		t.Fatal("two results")
	}
	if _, err := mu.Write(nil); err == nil {
		t.Fatal("written after the result")
	}
	return mu.Sum()
}

func TestMessageRepresentatives(t *testing.T) {
	message, context := bytes.Repeat([]byte("piece"), 1000), []byte("context")
	for _, set := range allSets {
		key := seeded(t, set, 1)
		mu := muOf(t, key.PublicKey(), context, message[:7], nil, message[7:])
		signature, err := key.Sign(nil, mu, &Options{Mu: true, Deterministic: true})
		if !allForms {
			if err != ErrUnsupported || key.PublicKey().VerifyWithOptions(mu, nil, &Options{Mu: true}) != ErrUnsupported {
				t.Fatal(set, err)
			}
			continue
		}
		if err != nil || !bytes.Equal(signature, signed(t, key, message, context)) {
			t.Fatal(set, err)
		}
		for range 2 { // Plain and prepared.
			if err := key.PublicKey().VerifyWithOptions(mu, signature, &Options{Mu: true}); err != nil {
				t.Fatal(set, err)
			}
			other := muOf(t, key.PublicKey(), nil, message)
			if err := key.PublicKey().VerifyWithOptions(other, signature, &Options{Mu: true}); err != ErrInvalid {
				t.Fatal(set, err)
			}
			key.PublicKey().Prepare()
		}
	}
}

func TestPreHashes(t *testing.T) {
	message, context := []byte("message"), []byte("context")
	digest := sha512.Sum512(message)
	for _, set := range allSets {
		key := seeded(t, set, 1)
		options := &Options{PreHash: SHA2_512, Context: context, Deterministic: true}
		signature, err := key.Sign(nil, digest[:], options)
		if !allForms {
			if err != ErrUnsupported || key.PublicKey().VerifyWithOptions(digest[:], nil, options) != ErrUnsupported {
				t.Fatal(set, err)
			}
			continue
		}
		if err != nil {
			t.Fatal(set, err)
		}
		// FIPS 204 algorithm 4: the representative of 1, context, identifier and digest.
		hash := sha3.NewSHAKE256()
		hash.Write(sha3.SumSHAKE256(key.PublicKey().Bytes(), 64))
		hash.Write(append([]byte{1, byte(len(context))}, context...))
		hash.Write([]byte{6, 9, 0x60, 0x86, 0x48, 1, 0x65, 3, 4, 2, byte(SHA2_512)})
		hash.Write(digest[:])
		mu := make([]byte, MuSize)
		hash.Read(mu)
		expected, err := key.Sign(nil, mu, &Options{Mu: true, Deterministic: true})
		if err != nil || !bytes.Equal(expected, signature) {
			t.Fatal(set, "signature", err)
		}
		for range 2 { // Plain and prepared.
			if err := key.PublicKey().VerifyWithOptions(digest[:], signature, options); err != nil {
				t.Fatal(set, err)
			}
			for _, other := range []*Options{nil, {Context: context}, {PreHash: SHA2_512}, {PreHash: SHA3_512, Context: context}} {
				if err := key.PublicKey().VerifyWithOptions(digest[:], signature, other); err != ErrInvalid {
					t.Fatal(set, other, err)
				}
			}
			key.PublicKey().Prepare()
		}
	}
}

func TestOptionsThatDoNotFit(t *testing.T) {
	weakest := map[Set]int{MLDSA44: 32, MLDSA65: 48, MLDSA87: 64}
	for _, set := range allSets {
		key := seeded(t, set, 1)
		for hash := range PreHash(20) {
			want := ErrOptions
			if hash.Size() != 0 {
				want = map[bool]error{true: nil, false: ErrWeakPreHash}[hash.Size() >= weakest[set]]
			}
			if !allForms && want == nil {
				want = ErrUnsupported
			}
			if hash == 0 {
				want = nil
			}
			if _, err := key.Sign(nil, make([]byte, hash.Size()), &Options{PreHash: hash}); err != want {
				t.Fatal(set, hash, err)
			}
			if hash.Size() != 0 {
				if _, err := key.Sign(nil, make([]byte, hash.Size()+1), &Options{PreHash: hash}); err != ErrDigest {
					t.Fatal(set, hash, err)
				}
			}
		}
		for _, test := range []struct {
			options *Options
			size    int
			want    error
		}{
			{&Options{Mu: true}, 63, ErrDigest},
			{&Options{Mu: true, Context: []byte{1}}, 64, ErrOptions},
			{&Options{Mu: true, PreHash: SHA2_512}, 64, ErrOptions},
			{&Options{Context: make([]byte, 256)}, 64, ErrContext},
			{&Options{PreHash: 1 << 31}, 0, ErrOptions},
		} {
			if _, err := key.Sign(nil, make([]byte, test.size), test.options); err != test.want {
				t.Fatal(set, test, err)
			}
			if err := key.PublicKey().VerifyWithOptions(make([]byte, test.size), nil, test.options); err != test.want {
				t.Fatal(set, test, err)
			}
		}
		if err := key.PublicKey().VerifyWithOptions(nil, make([]byte, 3), nil); err != ErrSignature {
			t.Fatal(set, err)
		}
		if _, err := NewMu(key.PublicKey(), make([]byte, 256)); err != ErrContext {
			t.Fatal(set, err)
		}
	}
}
