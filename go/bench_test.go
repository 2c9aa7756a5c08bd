package mldsa

import (
	"fmt"
	"testing"
)

// votesOf makes a committee with a valid vote of each member.
func votesOf(b *testing.B, set Set, n int) (*Committee, []Vote) {
	b.Helper()
	message := []byte("a vote of 120 bytes, as protocols of consensus have it: height, round, block, time, chain: mldsa")
	var list []Member
	var votes []Vote
	for i := range n {
		key := seeded(b, set, i)
		list = append(list, Member{key.PublicKey(), 1})
		votes = append(votes, Vote{uint32(i), message, signed(b, key, message, nil)})
	}
	committee, err := NewCommittee(CommitteeOptions{Set: set, Epoch: 1}, list)
	if err != nil {
		b.Fatal(err)
	}
	return committee, votes
}

// perSignature reports the time of each signature.
func perSignature(b *testing.B, n int) {
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/signature")
}

func BenchmarkCommittee(b *testing.B) {
	for _, n := range []int{4, 21, 100, 175} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			committee, votes := votesOf(b, MLDSA65, n)
			b.ReportAllocs()
			for b.Loop() {
				if all, _ := committee.VerifyBatch(votes); !all {
					b.Fatal("a valid vote")
				}
			}
			perSignature(b, n)
		})
	}
}

func BenchmarkBatch(b *testing.B) {
	for _, n := range []int{4, 21, 100, 175} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			committee, votes := votesOf(b, MLDSA65, n)
			b.ReportAllocs()
			for b.Loop() {
				batch, _ := NewBatch(MLDSA65, nil)
				for _, vote := range votes {
					if err := batch.Add(committee.members[vote.Member].Key, vote.Message, vote.Signature); err != nil {
						b.Fatal(err)
					}
				}
				if all, _ := batch.Verify(); !all {
					b.Fatal("a valid signature")
				}
				batch.Reset()
			}
			perSignature(b, n)
		})
	}
}

func BenchmarkVerify(b *testing.B) {
	for _, set := range allSets {
		b.Run(set.String(), func(b *testing.B) {
			key := seeded(b, set, 1)
			signature := signed(b, key, []byte("m"), nil)
			public := key.PublicKey().Prepare()
			b.ReportAllocs()
			for b.Loop() {
				if !public.Verify([]byte("m"), nil, signature) {
					b.Fatal("a valid signature")
				}
			}
		})
	}
}
