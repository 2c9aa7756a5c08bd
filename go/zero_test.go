package mldsa

import (
	"encoding/asn1"
	"errors"
	"math"
	"reflect"
	"testing"
)

// Every method of every exported type is called on its zero value and on nil with zero arguments, and
// with arguments that would be right for another value. Nothing panics, and nothing is true.
func TestZeroValues(t *testing.T) {
	key := seeded(t, MLDSA44, 1)
	signature := signed(t, key, nil, nil)
	useful := map[reflect.Type]reflect.Value{}
	for _, value := range []any{
		key, key.PublicKey(), []byte(nil), []Vote{{Signature: signature}}, []Member{{key.PublicKey(), 1}},
		TwoThirds, MLDSA44, uint64(1),
	} {
		useful[reflect.TypeOf(value)] = reflect.ValueOf(value)
	}
	calls := 0
	for _, pointer := range []any{
		&PublicKey{}, &Prepared{}, &PrivateKey{}, &Keys{}, &Batch{}, &Committee{}, &Mu{}, &Options{},
		&QuorumError{}, &QuorumError{Vote: -1}, &Member{}, &Vote{}, &Threshold{}, new(Set), new(PreHash),
		new(PKCS8Form), new(QuorumRule),
		(*PublicKey)(nil), (*PrivateKey)(nil), (*Keys)(nil), (*Batch)(nil), (*Committee)(nil), (*Mu)(nil),
		(*Options)(nil), (*QuorumError)(nil),
	} {
		value := reflect.ValueOf(pointer)
		for i := range value.NumMethod() {
			name := value.Type().Method(i).Name
			if name == "Format" {
				continue // Only fmt calls it, with a state.
			}
			if value.Type() == reflect.TypeFor[*PrivateKey]() && value.IsNil() {
				// Printing and encoding take the value, for values inside of others; a nil pointer has none.
				if _, ok := value.Type().Elem().MethodByName(name); ok {
					continue
				}
			}
			method := value.Method(i)
			for _, filled := range []bool{false, true} {
				arguments := make([]reflect.Value, method.Type().NumIn())
				for n := range arguments {
					kind := method.Type().In(n)
					arguments[n] = reflect.Zero(kind)
					if found, ok := useful[kind]; ok && filled {
						arguments[n] = found
					}
				}
				func() {
					defer func() {
						if reason := recover(); reason != nil {
							t.Errorf("%T.%s: %v", pointer, name, reason)
						}
					}()
					calls++
					for _, result := range method.Call(arguments) {
						if result.Kind() == reflect.Bool && result.Bool() {
							t.Errorf("%T.%s: true", pointer, name)
						}
					}
				}()
			}
		}
	}
	if calls < 150 {
		t.Fatal("calls", calls)
	}
	if _, err := NewMu(nil, nil); err != ErrKey {
		t.Fatal(err)
	}
	if _, err := (&PrivateKey{}).Sign(nil, nil, nil); err != ErrKey {
		t.Fatal(err)
	}
	if err := (&Batch{}).Add(&PublicKey{}, nil, nil); err != ErrSet {
		t.Fatal(err)
	}
}

// Indices above those of an int of 32 bits: `GOARCH=386 CGO_ENABLED=0 go test .`
func TestMembersOutOfRange(t *testing.T) {
	key := seeded(t, MLDSA44, 1)
	committee, err := NewCommittee(CommitteeOptions{Set: MLDSA44, Epoch: 1}, []Member{{key.PublicKey(), 1}})
	if err != nil {
		t.Fatal(err)
	}
	good := Vote{0, nil, signed(t, key, nil, nil)}
	for _, member := range []uint32{1, math.MaxInt32, math.MaxInt32 + 1, math.MaxUint32} {
		bad := Vote{member, nil, good.Signature}
		if all, valid := committee.VerifyBatch([]Vote{bad, good}); all || valid[0] || !valid[1] {
			t.Fatal(member, all, valid)
		}
		for _, rule := range []QuorumRule{Certificate, CertificateWithDuplicates} {
			reason, ok := quorumError(committee, rule, bad, good)
			if !ok || reason.Vote != 0 || reason.Reason != ErrMember {
				t.Fatal(member, rule, reason)
			}
		}
		if weight, err := committee.VerifyQuorum(AnyValid, nil, []Vote{bad, good}); weight != 1 || err != nil {
			t.Fatal(member, weight, err)
		}
	}
}

func quorumError(c *Committee, rule QuorumRule, votes ...Vote) (*QuorumError, bool) {
	_, err := c.VerifyQuorum(rule, nil, votes)
	reason, ok := err.(*QuorumError)
	return reason, ok
}

// A seed and the expanded key of ML-DSA-44 have the size of a public key of ML-DSA-87.
func TestAJoinedPrivateKeyIsNoPublicKey(t *testing.T) {
	for _, set := range allSets {
		key := seeded(t, set, 7)
		seed, _ := key.Seed()
		expanded, _ := key.Expanded()
		joined := append(seed, expanded...)
		for _, other := range allSets {
			if _, err := ParsePublicKey(other, joined); err == nil {
				t.Fatal(set, other)
			}
		}
		if set == MLDSA44 {
			if _, err := ParsePublicKey(MLDSA87, joined); err != ErrPrivate {
				t.Fatal(err)
			}
			if err := new(PublicKey).UnmarshalBinary(joined); err != ErrPrivate {
				t.Fatal(err)
			}
			bits := asn1.BitString{Bytes: joined, BitLength: 8 * len(joined)}
			spki, _ := asn1.Marshal(publicKeyInfo{MLDSA87.algorithm(), bits})
			if _, err := ParseSPKI(spki); !errors.Is(err, ErrPrivate) {
				t.Fatal(err)
			}
			// Another seed does not belong to this key: nothing else can be said about the bytes.
			joined[0] ^= 1
			if _, err := ParsePublicKey(MLDSA87, joined); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// A key enters a cache after a valid signature, not when it is parsed.
func TestKeysThatSignedAreCached(t *testing.T) {
	keys := NewKeys(4)
	parse := func(n int) *PublicKey {
		key, err := keys.Parse(MLDSA44, seeded(t, MLDSA44, n).PublicKey().Bytes())
		if err != nil {
			t.Fatal(err)
		}
		return key
	}
	signature := func(n int) []byte { return signed(t, seeded(t, MLDSA44, n), nil, nil) }
	for n := range 4 {
		if !parse(n).Verify(nil, nil, signature(n)) {
			t.Fatal(n)
		}
	}
	signers := []*PublicKey{parse(0), parse(1), parse(2), parse(3)}
	for n := 10; n < 40; n++ {
		if parse(n).Verify(nil, nil, signature(n+1)) {
			t.Fatal("a signature of another key")
		}
	}
	for n, signer := range signers {
		if parse(n) != signer {
			t.Fatal("parsed keys replaced one that signed:", n)
		}
	}
	batch, _ := NewBatch(MLDSA44, nil)
	for n := 40; n < 44; n++ {
		if err := batch.Add(parse(n), nil, signature(n)); err != nil {
			t.Fatal(err)
		}
	}
	if all, _ := batch.Verify(); !all || keys.Len() != 4 || parse(40) != parse(40) || parse(0) == parse(0) {
		t.Fatal("a valid signature of a batch counts as well")
	}
}

// So does a signature that VerifyWithOptions accepts.
func TestKeysThatSignedWithOptionsAreCached(t *testing.T) {
	keys := NewKeys(4)
	private := seeded(t, MLDSA44, 1)
	key, err := keys.Parse(MLDSA44, private.PublicKey().Bytes())
	if err != nil {
		t.Fatal(err)
	}
	signature := signed(t, private, nil, nil)
	if err := key.VerifyWithOptions([]byte("m"), signature, nil); err != ErrInvalid || keys.Len() != 0 {
		t.Fatal(err, keys.Len(), "cached keys")
	}
	if err := key.VerifyWithOptions(nil, signature, nil); err != nil || keys.Len() != 1 {
		t.Fatal(err, keys.Len(), "cached keys")
	}
}

// Self-verification changes no signature.
func TestSelfVerification(t *testing.T) {
	for _, set := range allSets {
		key := seeded(t, set, 3)
		want := signed(t, key, []byte("m"), nil)
		for _, on := range []bool{false, true, true, false} {
			key.SetSelfVerification(on)
			if got := signed(t, key, []byte("m"), nil); string(got) != string(want) {
				t.Fatal(set, on)
			}
		}
	}
}
