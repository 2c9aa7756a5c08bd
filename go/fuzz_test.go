package mldsa

import (
	"bytes"
	"testing"
)

func FuzzVerify(f *testing.F) {
	for i, set := range allSets {
		key := seeded(f, set, 1)
		f.Add(byte(i), key.PublicKey().Bytes(), []byte("m"), []byte{}, signed(f, key, []byte("m"), nil))
	}
	f.Fuzz(func(t *testing.T, which byte, encoded, message, context, signature []byte) {
		set := allSets[int(which)%3]
		key, err := ParsePublicKey(set, encoded)
		if err != nil {
			if len(encoded) == set.PublicKeySize() {
				t.Fatal(err)
			}
			return
		}
		want := circlVerify(set, encoded, message, context, signature)
		if key.Verify(message, context, signature) != want {
			t.Fatal(want)
		}
		if batch, err := NewBatch(set, context); err == nil && batch.Add(key, message, signature) == nil {
			for range 2 {
				if all, _ := batch.Verify(); all != want {
					t.Fatal("batch", want)
				}
			}
		}
	})
}

func FuzzOptions(f *testing.F) {
	f.Add(byte(0), uint32(0), false, []byte("m"), []byte{}, []byte{})
	f.Add(byte(1), uint32(SHA2_512), false, make([]byte, 64), []byte("c"), []byte{})
	f.Add(byte(2), uint32(0), true, make([]byte, 64), []byte{}, []byte{})
	var keys []*PrivateKey
	for _, set := range allSets {
		keys = append(keys, seeded(f, set, 1))
	}
	f.Fuzz(func(t *testing.T, which byte, hash uint32, mu bool, message, context, signature []byte) {
		key := keys[int(which)%3]
		options := &Options{Context: context, Deterministic: true, PreHash: PreHash(hash), Mu: mu}
		made, err := key.Sign(nil, message, options)
		if err != nil {
			if got := key.PublicKey().VerifyWithOptions(message, signature, options); got != err {
				t.Fatal(err, got)
			}
			return
		}
		if err := key.PublicKey().VerifyWithOptions(message, made, options); err != nil {
			t.Fatal(err)
		}
		if err := key.PublicKey().VerifyWithOptions(message, signature, options); (err == nil) != bytes.Equal(made, signature) {
			t.Fatal(err)
		}
	})
}

func FuzzKeys(f *testing.F) {
	for _, set := range allSets {
		key := seeded(f, set, 1)
		spki, _ := key.PublicKey().MarshalSPKI()
		f.Add(spki)
		for form := PKCS8Seed; form <= PKCS8Both; form++ {
			der, _ := key.MarshalPKCS8(form)
			f.Add(der)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if key, err := ParseSPKI(data); err == nil {
			if der, err := key.MarshalSPKI(); err != nil || !bytes.HasPrefix(data, []byte("---")) && !bytes.Equal(der, data) {
				t.Fatal(err)
			}
		}
		key, err := ParsePKCS8(data)
		if err != nil {
			return
		}
		der, err := key.MarshalPKCS8(PKCS8Expanded)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := ParsePKCS8(der); err != nil || !again.Equal(key) {
			t.Fatal(err)
		}
	})
}

func FuzzCommittee(f *testing.F) {
	var keys []*PrivateKey
	var list []Member
	for n := range 4 {
		keys = append(keys, seeded(f, MLDSA44, n))
		list = append(list, Member{keys[n].PublicKey(), uint64(n + 1)})
	}
	message := []byte("block 7")
	var signatures [][]byte
	for _, key := range keys {
		signatures = append(signatures, signed(f, key, message, nil))
	}
	committee, err := NewCommittee(CommitteeOptions{Set: MLDSA44, Epoch: 1}, list)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(byte(2), []byte{0, 0, 1, 1, 2, 2, 3, 3})
	f.Fuzz(func(t *testing.T, rule byte, program []byte) {
		var votes []Vote
		weight, carried, good, counted := uint64(0), uint64(0), true, map[uint32]bool{}
		for ; len(program) > 1; program = program[2:] {
			// The lowest three bits of the second byte are the signature; 4 to 7 are none.
			member, which := uint32(program[0])%5, int(program[1])%8
			vote := Vote{Member: member, Message: message}
			if which < len(signatures) {
				vote.Signature = signatures[which]
			}
			votes = append(votes, vote)
			valid := member < 4 && int(member) == which
			good = good && valid && !counted[member]
			if valid && !counted[member] {
				counted[member] = true
				weight += uint64(which + 1)
				if 3*carried <= 20 {
					carried = weight
				}
			}
		}
		_, verdicts := committee.VerifyBatch(votes)
		for i, vote := range votes {
			valid := int(vote.Member) < 4 && bytes.Equal(vote.Signature, signatures[vote.Member])
			if verdicts[i] != valid {
				t.Fatal(i, verdicts[i])
			}
		}
		got, err := committee.VerifyQuorum(AnyValid, message, votes)
		if (err == nil) != (3*weight > 20) || err == nil && got != carried {
			t.Fatal(weight, carried, got, err)
		}
		got, err = committee.VerifyQuorum(Certificate, message, votes)
		if (err == nil) != (good && 3*weight > 20) || err == nil && got != weight {
			t.Fatal(weight, got, err)
		}
		if _, err := committee.VerifyQuorum(QuorumRule(rule), message, votes); rule > 2 && err != ErrOptions {
			t.Fatal(err)
		}
	})
}
