package mldsa

import (
	"bytes"
	"crypto"
	"crypto/rand"
	"encoding"
	"fmt"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/cloudflare/circl/sign/mldsa/mldsa44"
	"github.com/cloudflare/circl/sign/mldsa/mldsa65"
	"github.com/cloudflare/circl/sign/mldsa/mldsa87"
)

var (
	_ crypto.Signer            = (*PrivateKey)(nil)
	_ encoding.BinaryMarshaler = (*PublicKey)(nil)
)

func TestMain(m *testing.M) {
	fmt.Println("implementation:", Implementation)
	os.Exit(m.Run())
}

func seeded(t testing.TB, set Set, n int) *PrivateKey {
	t.Helper()
	seed := make([]byte, SeedSize)
	seed[0], seed[1] = byte(n), byte(n>>8)
	key, err := NewPrivateKey(set, seed)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func signed(t testing.TB, key *PrivateKey, message, context []byte) []byte {
	t.Helper()
	signature, err := key.Sign(nil, message, &Options{Context: context, Deterministic: true})
	if err != nil {
		t.Fatal(err)
	}
	return signature
}

func circlSign(set Set, seed, message, context []byte) (public, expanded, signature []byte) {
	xi := [32]byte(seed)
	signature = make([]byte, set.SignatureSize())
	var err error
	switch set {
	case MLDSA44:
		pk, sk := mldsa44.NewKeyFromSeed(&xi)
		public, expanded = pk.Bytes(), sk.Bytes()
		err = mldsa44.SignTo(sk, message, context, false, signature)
	case MLDSA65:
		pk, sk := mldsa65.NewKeyFromSeed(&xi)
		public, expanded = pk.Bytes(), sk.Bytes()
		err = mldsa65.SignTo(sk, message, context, false, signature)
	default:
		pk, sk := mldsa87.NewKeyFromSeed(&xi)
		public, expanded = pk.Bytes(), sk.Bytes()
		err = mldsa87.SignTo(sk, message, context, false, signature)
	}
	if err != nil {
		panic(err)
	}
	return public, expanded, signature
}

func TestKeysAndSignaturesEqualThoseOfCIRCL(t *testing.T) {
	for _, set := range allSets {
		for n := range 50 {
			key := seeded(t, set, n)
			seed, err := key.Seed()
			if err != nil {
				t.Fatal(err)
			}
			message, context := bytes.Repeat([]byte{byte(n)}, 7*n), bytes.Repeat([]byte{9}, 5*n)
			public, expanded, signature := circlSign(set, seed, message, context)
			if got, err := key.Expanded(); err != nil || !bytes.Equal(got, expanded) {
				t.Fatal(set, n, "expanded key")
			}
			if !bytes.Equal(key.PublicKey().Bytes(), public) {
				t.Fatal(set, n, "public key")
			}
			if !bytes.Equal(signed(t, key, message, context), signature) {
				t.Fatal(set, n, "signature")
			}
			parsed, err := ParsePrivateKey(set, expanded)
			if err != nil || !parsed.Equal(key) {
				t.Fatal(set, n, err)
			}
			if !bytes.Equal(signed(t, parsed, message, context), signature) {
				t.Fatal(set, n, "signature of the parsed key")
			}
			if _, err := parsed.Seed(); err != ErrNoSeed {
				t.Fatal(set, n, "seed of the parsed key", err)
			}
		}
	}
}

func TestBatchVerdictsAreThoseOfTheSignatures(t *testing.T) {
	for _, set := range allSets {
		for _, context := range [][]byte{nil, []byte("chain")} {
			keys := NewKeys(100)
			batch, err := NewBatch(set, context)
			if err != nil {
				t.Fatal(err)
			}
			// The first batch meets all keys for the first time, later ones use the committee.
			for round := range 4 {
				var want []bool
				for n := range 60 {
					key := seeded(t, set, n%20)
					message := []byte(fmt.Sprint("round ", round, n))
					signature := signed(t, key, message, context)
					signature[n*131%len(signature)] ^= byte(n % 2)
					parsed, err := keys.Parse(set, key.PublicKey().Bytes())
					if err != nil {
						t.Fatal(err)
					}
					if err := batch.Add(parsed, message, signature); err != nil {
						t.Fatal(err)
					}
					want = append(want, parsed.Verify(message, context, signature))
				}
				for range 2 { // A batch may be verified again.
					all, verdicts := batch.Verify()
					if all || fmt.Sprint(verdicts) != fmt.Sprint(want) {
						t.Fatal(set, round, verdicts, want)
					}
				}
				batch.Reset()
			}
		}
	}
}

func TestANewKeyManyTimesInABatch(t *testing.T) {
	for _, set := range allSets {
		key := seeded(t, set, 7000)
		signature := signed(t, key, []byte("m"), nil)
		for range 3 {
			batch, _ := NewBatch(set, nil)
			for n := range 20 {
				public, _ := ParsePublicKey(set, key.PublicKey().Bytes())
				if n%2 == 0 {
					public = key.PublicKey()
				}
				if err := batch.Add(public, []byte("m"), signature); err != nil {
					t.Fatal(err)
				}
			}
			if all, verdicts := batch.Verify(); !all || len(verdicts) != 20 {
				t.Fatal(set, verdicts)
			}
		}
	}
}

func TestMoreKeysThanACacheHolds(t *testing.T) {
	const count = 1100
	keys := NewKeys(10)
	batch, _ := NewBatch(MLDSA44, nil)
	var publics []*PublicKey
	var signatures [][]byte
	for n := range count {
		key := seeded(t, MLDSA44, n)
		public, err := keys.Parse(MLDSA44, key.PublicKey().Bytes())
		if err != nil {
			t.Fatal(err)
		}
		publics, signatures = append(publics, public), append(signatures, signed(t, key, []byte("m"), nil))
	}
	if keys.Len() != 0 {
		t.Fatal(keys.Len(), "cached keys without a signature")
	}
	for range 3 {
		for n, public := range publics {
			if err := batch.Add(public, []byte("m"), signatures[(n+n/1000)%count]); err != nil {
				t.Fatal(err)
			}
		}
		all, verdicts := batch.Verify()
		for n, valid := range verdicts {
			if valid != (n < 1000) {
				t.Fatal(n, valid)
			}
		}
		if all || keys.Len() != 10 {
			t.Fatal(all, keys.Len(), "cached keys")
		}
		batch.Reset()
	}
}

func TestBadInput(t *testing.T) {
	if _, err := NewPrivateKey(1, make([]byte, 32)); err != ErrSet {
		t.Fatal(err)
	}
	if _, err := GenerateKey(0); err != ErrSet {
		t.Fatal(err)
	}
	if Set(3).PublicKeySize() != 0 {
		t.Fatal("size of an unknown set")
	}
	for i, set := range allSets {
		key := seeded(t, set, 1)
		other := seeded(t, allSets[(i+1)%3], 1)
		for _, size := range []int{0, 1, 31, 33, set.PublicKeySize() - 1, set.PublicKeySize() + 1} {
			if _, err := ParsePublicKey(set, make([]byte, size)); err != ErrKeySize {
				t.Fatal(size, err)
			}
			if _, err := NewPrivateKey(set, make([]byte, size)); err != ErrKeySize {
				t.Fatal(size, err)
			}
			if _, err := ParsePrivateKey(set, make([]byte, size)); err != ErrKeySize {
				t.Fatal(size, err)
			}
			if key.PublicKey().Verify(nil, nil, make([]byte, size)) {
				t.Fatal(size)
			}
		}
		if _, err := ParsePrivateKey(set, bytes.Repeat([]byte{255}, set.ExpandedKeySize())); err != ErrSecretRange {
			t.Fatal(err)
		}
		expanded, _ := key.Expanded()
		expanded[64] ^= 1
		if _, err := ParsePrivateKey(set, expanded); err != ErrInconsistent {
			t.Fatal(err)
		}
		for _, b := range []byte{0, 7, 255} {
			copy(expanded[32:], bytes.Repeat([]byte{b}, 32))
			if _, err := ParsePrivateKey(set, expanded); err != ErrConstantK {
				t.Fatal(err)
			}
		}
		if _, err := key.Sign(nil, nil, crypto.SHA256); err != ErrOptions {
			t.Fatal(err)
		}
		if _, err := key.Sign(nil, nil, &Options{Context: make([]byte, 256)}); err != ErrContext {
			t.Fatal(err)
		}
		if _, err := key.Sign(bytes.NewReader(nil), nil, nil); err == nil {
			t.Fatal("signed without randomness")
		}
		if _, err := key.Sign(bytes.NewReader(make([]byte, 32)), nil, nil); err != ErrRandomness {
			t.Fatal("signed with zeros", err)
		}
		if key.Equal(other) || key.PublicKey().Equal(other.PublicKey()) || key.PublicKey().Equal(nil) {
			t.Fatal("equal keys")
		}
		batch, _ := NewBatch(set, nil)
		if all, verdicts := batch.Verify(); all || len(verdicts) != 0 {
			t.Fatal("an empty batch")
		}
		if err := batch.Add(other.PublicKey(), nil, nil); err != ErrMixedSets {
			t.Fatal(err)
		}
		if err := batch.Add(nil, nil, nil); err != ErrMixedSets {
			t.Fatal(err)
		}
		if err := batch.Add(key.PublicKey(), nil, make([]byte, 3)); err != ErrSignature {
			t.Fatal(err)
		}
		if _, err := NewBatch(set, make([]byte, 256)); err != ErrContext {
			t.Fatal(err)
		}
		// The verifier of CIRCL and ours take no messages and no contexts.
		if !key.PublicKey().Verify(nil, nil, signed(t, key, nil, nil)) {
			t.Fatal("the empty message")
		}
		if key.PublicKey().Verify(nil, make([]byte, 256), signed(t, key, nil, nil)) {
			t.Fatal("a context of 256 bytes")
		}
	}
}

func TestThreeStepsVerifyAsOne(t *testing.T) {
	if _, err := DecodeSignature(0, nil); err != ErrSet {
		t.Fatal(err)
	}
	for i, set := range allSets {
		key := seeded(t, set, 1).PublicKey()
		signature := signed(t, seeded(t, set, 1), []byte("message"), []byte("context"))
		if _, err := DecodeSignature(set, signature[1:]); err != ErrSignature {
			t.Fatal(err)
		}
		for at := 0; at < len(signature); at += 7 {
			changed := bytes.Clone(signature)
			changed[at] ^= byte(at % 3)
			want := key.Verify([]byte("message"), []byte("context"), changed)
			decoded, err := DecodeSignature(set, changed)
			if err != nil && err != ErrInvalid {
				t.Fatal(err)
			}
			if key.VerifyDecoded([]byte("message"), []byte("context"), decoded) != want || want != (at%3 == 0) {
				t.Fatal(set, at, want)
			}
			if seeded(t, allSets[(i+1)%3], 1).PublicKey().VerifyDecoded(nil, nil, decoded) {
				t.Fatal("another set")
			}
		}
	}
}

func TestHedgedSignaturesDiffer(t *testing.T) {
	for _, set := range allSets {
		key, err := GenerateKey(set)
		if err != nil {
			t.Fatal(err)
		}
		a, _ := key.Sign(nil, []byte("m"), nil)
		b, _ := key.Sign(rand.Reader, []byte("m"), crypto.Hash(0))
		if bytes.Equal(a, b) || !key.PublicKey().Verify([]byte("m"), nil, a) || !key.PublicKey().Verify([]byte("m"), nil, b) {
			t.Fatal(set)
		}
	}
}

// Every verdict is right while others prepare and release the key.
func TestConcurrentRelease(t *testing.T) {
	keys := NewKeys(4)
	private := seeded(t, MLDSA44, 1)
	signature := signed(t, private, []byte("m"), nil)
	key, err := keys.Parse(MLDSA44, private.PublicKey().Bytes())
	if err != nil {
		t.Fatal(err)
	}
	var done atomic.Bool
	var releasing, verifying sync.WaitGroup
	for worker := range 2 {
		releasing.Go(func() {
			for !done.Load() {
				if worker == 1 {
					key.Prepare()
				}
				key.Release()
			}
		})
		verifying.Go(func() {
			for range 300 {
				if !key.Verify([]byte("m"), nil, signature) || key.Verify([]byte("n"), nil, signature) {
					t.Error("a wrong verdict")
				}
			}
		})
	}
	verifying.Wait()
	done.Store(true)
	releasing.Wait()
}

func TestConcurrentUse(t *testing.T) {
	keys := NewKeys(8)
	key := seeded(t, MLDSA65, 1)
	signature := signed(t, key, []byte("m"), nil)
	var group sync.WaitGroup
	for worker := range 8 {
		group.Go(func() {
			for n := range 40 {
				signer := seeded(t, MLDSA65, worker*3+n%3)
				public, err := keys.Parse(MLDSA65, signer.PublicKey().Bytes())
				if err != nil {
					t.Error(err)
					return
				}
				public.Prepare()
				if public.Verify([]byte("m"), nil, signature) != public.Equal(key.PublicKey()) {
					t.Error("a wrong verdict")
				}
				batch, _ := NewBatch(MLDSA65, nil)
				if batch.Add(public, []byte("n"), signed(t, signer, []byte("n"), nil)) != nil {
					t.Error("not added")
				}
				if batch.Add(public, []byte("m"), signature) != nil {
					t.Error("not added")
				}
				_, verdicts := batch.Verify()
				if !verdicts[0] || verdicts[1] != public.Equal(key.PublicKey()) {
					t.Error("a wrong verdict in a batch")
				}
				batch.Reset()
				if n%10 == 0 {
					runtime.GC()
				}
			}
		})
	}
	group.Wait()
}
