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
	"testing"

	"github.com/cloudflare/circl/sign/mldsa/mldsa44"
	"github.com/cloudflare/circl/sign/mldsa/mldsa65"
	"github.com/cloudflare/circl/sign/mldsa/mldsa87"
)

var (
	_ crypto.Signer            = (*PrivateKey)(nil)
	_ encoding.BinaryMarshaler = (*PrivateKey)(nil)
	_ encoding.BinaryMarshaler = (*PublicKey)(nil)
)

var sets = []Set{MLDSA44, MLDSA65, MLDSA87}

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

// circlVerify is the verdict of CIRCL, whatever the implementation in use is.
func circlVerify(set Set, encoded, message, context, signature []byte) bool {
	switch set {
	case MLDSA44:
		var key mldsa44.PublicKey
		return key.UnmarshalBinary(encoded) == nil && mldsa44.Verify(&key, message, context, signature)
	case MLDSA65:
		var key mldsa65.PublicKey
		return key.UnmarshalBinary(encoded) == nil && mldsa65.Verify(&key, message, context, signature)
	default:
		var key mldsa87.PublicKey
		return key.UnmarshalBinary(encoded) == nil && mldsa87.Verify(&key, message, context, signature)
	}
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
	for _, set := range sets {
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

// structured changes one input in a way that a verifier may get wrong.
func structured(set Set, n int, encoded, message, context, signature []byte) (a, b, c, d []byte) {
	a, b, c, d = bytes.Clone(encoded), bytes.Clone(message), bytes.Clone(context), bytes.Clone(signature)
	bit := n / 8
	switch n % 8 {
	case 0:
	case 1:
		d[bit%len(d)] ^= 1 << (bit % 8)
	case 2: // The hint: positions and counts.
		hint := d[len(d)-map[Set]int{44: 84, 65: 61, 87: 83}[set]:]
		hint[bit%len(hint)] = byte(bit)
	case 3:
		a[bit%len(a)] ^= 1 << (bit % 8)
	case 4:
		b = append(b, byte(bit))
	case 5:
		c = append(c, byte(bit))
	case 6: // z at and beyond its bound.
		z := d[map[Set]int{44: 32, 65: 48, 87: 64}[set]:]
		copy(z[bit*9%1000:], [][]byte{{0, 0, 0}, {255, 255, 255}, {78, 0, 0}, {196, 0, 0}}[bit%4])
	case 7:
		copy(d[len(d)-8:], d[len(d)-7:])
	}
	return a, b, c, d
}

// MLDSA_INPUTS is the number of inputs of each set.
func TestVerdictsEqualThoseOfCIRCL(t *testing.T) {
	inputs := 2000
	if named := os.Getenv("MLDSA_INPUTS"); named != "" {
		if _, err := fmt.Sscan(named, &inputs); err != nil {
			t.Fatal(err)
		}
	}
	for _, set := range sets {
		valid := 0
		for n := 0; n < inputs; n++ {
			key := seeded(t, set, n%16)
			message, context := []byte(fmt.Sprint("message ", n)), []byte("context")
			if n%3 == 0 {
				context = nil
			}
			encoded, message, context, signature := structured(set, n, key.PublicKey().Bytes(), message, context,
				signed(t, key, message, context))
			want := circlVerify(set, encoded, message, context, signature)
			public, err := ParsePublicKey(set, encoded)
			if err != nil {
				t.Fatal(err)
			}
			if public.Verify(message, context, signature) != want {
				t.Fatalf("%v input %d: not %v", set, n, want)
			}
			if public.Prepare().Verify(message, context, signature) != want {
				t.Fatalf("%v input %d: prepared: not %v", set, n, want)
			}
			if want {
				valid++
			}
		}
		if valid < inputs/8 || valid == inputs {
			t.Fatal(set, valid, "valid inputs")
		}
	}
}

func TestBatchVerdictsAreThoseOfTheSignatures(t *testing.T) {
	for _, set := range sets {
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
					public, message, _, signature := structured(set, (n%2)*n, key.PublicKey().Bytes(), message, context,
						signed(t, key, message, context))
					parsed, err := keys.Parse(set, public)
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
	for _, set := range sets {
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
	if keys.Len() != 10 {
		t.Fatal(keys.Len(), "cached keys")
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
		if all {
			t.Fatal("all valid")
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
	for i, set := range sets {
		key := seeded(t, set, 1)
		other := seeded(t, sets[(i+1)%3], 1)
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
		if _, err := ParsePrivateKey(set, bytes.Repeat([]byte{255}, set.ExpandedKeySize())); err != ErrKey {
			t.Fatal(err)
		}
		expanded, _ := key.Expanded()
		expanded[64] ^= 1
		if _, err := ParsePrivateKey(set, expanded); err != ErrKey {
			t.Fatal(err)
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

func TestHedgedSignaturesDiffer(t *testing.T) {
	for _, set := range sets {
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

func TestCommittee(t *testing.T) {
	context := []byte("chain/vote")
	for _, set := range sets {
		var keys []*PrivateKey
		var list []Member
		for n := range 4 {
			keys = append(keys, seeded(t, set, n))
			list = append(list, Member{keys[n].PublicKey(), 1})
		}
		committee, err := NewCommittee(set, context, 1, list)
		if err != nil {
			t.Fatal(err)
		}
		message := []byte("block 7")
		var votes []Vote
		for n, key := range keys {
			index, err := committee.Index(key.PublicKey())
			if err != nil || index != uint32(n) {
				t.Fatal(index, err)
			}
			votes = append(votes, Vote{index, message, signed(t, key, message, context)})
		}
		if all, _ := committee.Verify(votes); !all || !committee.Quorum(message, votes) {
			t.Fatal(set, "valid votes")
		}
		if !committee.Quorum(message, votes[:3]) || committee.Quorum(message, votes[:2]) {
			t.Fatal(set, "quorum")
		}
		if committee.Quorum([]byte("block 8"), votes) || committee.Quorum(message, nil) {
			t.Fatal(set, "quorum of another message")
		}
		if committee.Quorum(message, append(append([]Vote{}, votes[:2]...), votes[:2]...)) {
			t.Fatal(set, "repeated votes")
		}
		bad := append([]Vote(nil), votes...)
		bad[0].Member, bad[1].Member, bad[2].Signature = 3, 4, nil
		if all, verdicts := committee.Verify(bad); all || fmt.Sprint(verdicts) != "[false false false true]" {
			t.Fatal(set, verdicts)
		}
		if all, verdicts := committee.Verify(nil); all || len(verdicts) != 0 {
			t.Fatal(set, "no votes")
		}

		// A new key twenty times, and a member again.
		fifth := seeded(t, set, 5)
		var joining []Member
		for range 20 {
			joining = append(joining, Member{fifth.PublicKey(), 2}, list[0])
		}
		if _, err := committee.WithMembers(1, joining); err != ErrCommittee {
			t.Fatal(err)
		}
		next, err := committee.WithMembers(2, joining)
		if err != nil || next.Len() != 5 || committee.Len() != 4 || next.Epoch() != 2 {
			t.Fatal(err)
		}
		votes = append(votes, Vote{4, message, signed(t, fifth, message, context)})
		if all, verdicts := next.Verify(votes); !all {
			t.Fatal(set, verdicts)
		}
		if all, verdicts := committee.Verify(votes); all || verdicts[4] {
			t.Fatal(set, verdicts)
		}
		for _, list := range [][]Member{nil, {{nil, 1}}, {list[0], list[0]}, {{list[0].Key, 0}}} {
			if _, err := NewCommittee(set, context, 1, list); err == nil {
				t.Fatal(set, list)
			}
		}
	}
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

func FuzzVerify(f *testing.F) {
	key := seeded(f, MLDSA44, 1)
	f.Add(byte(0), key.PublicKey().Bytes(), []byte("m"), []byte{}, signed(f, key, []byte("m"), nil))
	f.Fuzz(func(t *testing.T, which byte, encoded, message, context, signature []byte) {
		set := sets[int(which)%3]
		key, err := ParsePublicKey(set, encoded)
		if err != nil {
			return
		}
		want := len(context) <= 255 && circlVerify(set, encoded, message, context, signature)
		if key.Verify(message, context, signature) != want {
			t.Fatal(want)
		}
		if batch, err := NewBatch(set, context); err == nil && batch.Add(key, message, signature) == nil {
			if all, _ := batch.Verify(); all != want {
				t.Fatal("batch", want)
			}
		}
	})
}
