package mldsa

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

func TestCommittee(t *testing.T) {
	context := []byte("chain/vote")
	for _, set := range allSets {
		var keys []*PrivateKey
		var list []Member
		for n := range 4 {
			keys = append(keys, seeded(t, set, n))
			list = append(list, Member{keys[n].PublicKey(), 1})
		}
		committee, err := NewCommittee(CommitteeOptions{Set: set, Context: context, Epoch: 1}, list)
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
		if all, _ := committee.VerifyBatch(votes); !all {
			t.Fatal(set, "valid votes")
		}
		bad := append([]Vote(nil), votes...)
		bad[0].Member, bad[1].Member, bad[2].Signature = 3, 4, nil
		if all, verdicts := committee.VerifyBatch(bad); all || fmt.Sprint(verdicts) != "[false false false true]" {
			t.Fatal(set, verdicts)
		}
		if all, verdicts := committee.VerifyBatch(nil); all || len(verdicts) != 0 {
			t.Fatal(set, "no votes")
		}

		// A new key twenty times, and a member again.
		fifth := seeded(t, set, 5)
		var joining []Member
		for range 20 {
			joining = append(joining, Member{fifth.PublicKey(), 2}, list[0])
		}
		if _, err := committee.Successor(1, joining); err != ErrCommittee {
			t.Fatal(err)
		}
		next, err := committee.Successor(2, joining)
		if err != nil || next.Len() != 5 || committee.Len() != 4 || next.Epoch() != 2 {
			t.Fatal(err)
		}
		votes = append(votes, Vote{4, message, signed(t, fifth, message, context)})
		if all, verdicts := next.VerifyBatch(votes); !all {
			t.Fatal(set, verdicts)
		}
		if all, verdicts := committee.VerifyBatch(votes); all || verdicts[4] {
			t.Fatal(set, verdicts)
		}
		for _, list := range [][]Member{nil, {{nil, 1}}, {list[0], list[0]}, {{list[0].Key, 0}}} {
			if _, err := NewCommittee(CommitteeOptions{Set: set, Context: context, Epoch: 1}, list); err == nil {
				t.Fatal(set, list)
			}
		}
	}
}

func TestSuccessor(t *testing.T) {
	message := []byte("block 7")
	for i, set := range allSets {
		var keys []*PublicKey
		var votes [][]byte
		for n := range 6 {
			key := seeded(t, set, n)
			keys = append(keys, key.PublicKey())
			votes = append(votes, signed(t, key, message, nil))
		}
		other := seeded(t, allSets[(i+1)%3], 1).PublicKey()
		committee, err := NewCommittee(CommitteeOptions{Set: set, Epoch: 1}, []Member{{keys[0], 1}, {keys[1], 1}, {keys[2], 1}, {keys[3], 1}})
		if err != nil {
			t.Fatal(err)
		}
		// 1 leaves, 2 gets another weight, 5 and 4 join in this order, 0 was named without a change.
		changes := []Member{{keys[5], 3}, {keys[1], 0}, {keys[2], 7}, {keys[4], 2}, {keys[0], 1}, {keys[5], 3}}
		next, err := committee.Successor(2, changes)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := next.Successor(3, changes); err != nil || again.Len() != next.Len() {
			t.Fatal(set, err)
		}
		for place, member := range []int{0, 2, 3, 5, 4} {
			index, err := next.Index(keys[member])
			if err != nil || index != uint32(place) {
				t.Fatal(set, member, index, err)
			}
			if all, _ := next.VerifyBatch([]Vote{{index, message, votes[member]}}); !all {
				t.Fatal(set, member, "vote")
			}
			if all, _ := next.VerifyBatch([]Vote{{index, message, votes[(member+1)%6]}}); all {
				t.Fatal(set, member, "vote of another")
			}
		}
		if _, err := next.Index(keys[1]); err != ErrMember {
			t.Fatal(set, err)
		}
		// The weights are 1, 7, 1, 3, 2: 10 of 14 is a quorum, 9 is not.
		weight, err := next.VerifyQuorum(AnyValid, message, []Vote{{1, nil, votes[2]}, {3, nil, votes[5]}})
		if err != nil || weight != 10 {
			t.Fatal(set, weight, err)
		}
		if _, err := next.VerifyQuorum(AnyValid, message, []Vote{{1, nil, votes[2]}, {4, nil, votes[4]}}); err == nil {
			t.Fatal(set, "9 of 14")
		}
		for _, changes := range [][]Member{
			{{keys[0], 2}, {keys[0], 3}}, {{nil, 1}}, {{other, 1}},
			{{keys[0], 0}, {keys[1], 0}, {keys[2], 0}, {keys[3], 0}},
		} {
			if _, err := committee.Successor(2, changes); err == nil {
				t.Fatal(set, changes)
			}
		}
	}
}

// failing is an implementation that makes no successor.
type failing struct{ votesVerifier }

func (failing) successor(*Committee, []Member) (votesVerifier, error) { return nil, ErrInternal }

// A committee without a verifier is not returned.
func TestASuccessorThatFails(t *testing.T) {
	committee, err := NewCommittee(CommitteeOptions{Set: MLDSA44, Epoch: 1}, []Member{{seeded(t, MLDSA44, 1).PublicKey(), 1}})
	if err != nil {
		t.Fatal(err)
	}
	committee.native = failing{}
	if next, err := committee.Successor(2, nil); next != nil || err != ErrInternal {
		t.Fatal(next, err)
	}
}

func TestQuorum(t *testing.T) {
	message := []byte("block 7")
	var list []Member
	var votes []Vote
	for n := range 4 {
		key := seeded(t, MLDSA44, n)
		list = append(list, Member{key.PublicKey(), 1 << n})
		votes = append(votes, Vote{uint32(n), nil, signed(t, key, message, nil)})
	}
	committee, err := NewCommittee(CommitteeOptions{Set: MLDSA44, Epoch: 1}, list)
	if err != nil {
		t.Fatal(err)
	}
	third, err := NewCommittee(CommitteeOptions{Set: MLDSA44, Threshold: Threshold{1, 3}}, list)
	if err != nil {
		t.Fatal(err)
	}
	wrong := votes[0]
	wrong.Signature = votes[1].Signature
	short := votes[2]
	short.Signature = short.Signature[1:]
	all := votes
	for n, test := range []struct {
		committee *Committee
		rule      QuorumRule
		votes     []Vote
		weight    uint64
		vote      int
		reason    error
	}{
		{committee, Certificate, all, 15, 0, nil},
		{committee, Certificate, []Vote{votes[3], votes[1], votes[0]}, 11, 0, nil},
		{committee, Certificate, []Vote{votes[3], votes[1]}, 0, -1, ErrInsufficientWeight},
		{committee, Certificate, nil, 0, -1, ErrInsufficientWeight},
		{committee, Certificate, []Vote{votes[3], votes[2], wrong}, 0, 2, ErrInvalid},
		{committee, Certificate, []Vote{votes[3], short}, 0, 1, ErrInvalid},
		{committee, Certificate, append([]Vote{{4, nil, nil}}, all...), 0, 0, ErrMember},
		{committee, Certificate, []Vote{votes[3], votes[3], votes[2]}, 0, 1, ErrDuplicateVote},
		{committee, CertificateWithDuplicates, []Vote{votes[3], votes[3], votes[2]}, 12, 0, nil},
		{committee, CertificateWithDuplicates, []Vote{votes[3], votes[3]}, 0, -1, ErrInsufficientWeight},
		{committee, CertificateWithDuplicates, []Vote{votes[3], votes[2], votes[0], wrong}, 0, 3, ErrConflictingVotes},
		{committee, Certificate, []Vote{votes[3], votes[2], votes[0], wrong}, 0, 3, ErrConflictingVotes},
		{committee, AnyValid, []Vote{wrong, short, votes[3], {9, nil, nil}, votes[3], votes[2]}, 12, 0, nil},
		// Counted in order: a later vote that is valid carries no weight.
		{committee, AnyValid, all, 15, 0, nil},
		{committee, AnyValid, []Vote{votes[3], votes[2], votes[1], votes[0]}, 12, 0, nil},
		{committee, AnyValid, []Vote{wrong, votes[3], votes[1], votes[2], votes[0]}, 14, 0, nil},
		{third, AnyValid, all, 7, 0, nil},
		{third, AnyValid, []Vote{short, votes[3], votes[2]}, 8, 0, nil},
		{committee, AnyValid, []Vote{votes[3], votes[3], votes[3]}, 0, -1, ErrInsufficientWeight},
		{committee, AnyValid, []Vote{wrong, short}, 0, -1, ErrInsufficientWeight},
		{third, Certificate, []Vote{votes[2], votes[1]}, 6, 0, nil},
		{third, Certificate, []Vote{votes[2], votes[0]}, 0, -1, ErrInsufficientWeight},
	} {
		weight, err := test.committee.VerifyQuorum(test.rule, message, test.votes)
		var reason *QuorumError
		if test.reason == nil && (err != nil || weight != test.weight) {
			t.Fatal(n, weight, err)
		}
		if test.reason != nil && (!errors.Is(err, test.reason) || !errors.As(err, &reason) || reason.Vote != test.vote) {
			t.Fatal(n, weight, err)
		}
	}
	if _, err := committee.VerifyQuorum(Certificate, []byte("block 8"), all); !errors.Is(err, ErrInvalid) {
		t.Fatal(err)
	}
	if _, err := committee.VerifyQuorum(7, message, all); err != ErrOptions {
		t.Fatal(err)
	}
	for _, threshold := range []Threshold{{0, 1}, {0, 3}, {0, math.MaxUint32}, {1, 1}, {4, 3}, {1, 0}} {
		if _, err := NewCommittee(CommitteeOptions{Set: MLDSA44, Threshold: threshold}, list); err != ErrCommittee {
			t.Fatal(threshold, err)
		}
	}
	// Sums of weights above 64 bits.
	for n := range list {
		list[n].Weight = math.MaxUint64
	}
	heavy, err := NewCommittee(CommitteeOptions{Set: MLDSA44, Epoch: 1}, list)
	if err != nil {
		t.Fatal(err)
	}
	if weight, err := heavy.VerifyQuorum(Certificate, message, all[:3]); err != nil || weight != math.MaxUint64 {
		t.Fatal(weight, err)
	}
	if _, err := heavy.VerifyQuorum(AnyValid, message, all[:2]); !errors.Is(err, ErrInsufficientWeight) {
		t.Fatal(err)
	}
	// A successor keeps the threshold.
	if third, err = third.Successor(1, nil); err != nil {
		t.Fatal(err)
	}
	if weight, err := third.VerifyQuorum(Certificate, message, []Vote{votes[2], votes[1]}); err != nil || weight != 6 {
		t.Fatal(weight, err)
	}
	// More forged votes than are verified at once.
	var many []Vote
	for range 300 {
		many = append(many, wrong, short)
	}
	many = append(many, votes[3], votes[2], votes[1], votes[0])
	if weight, err := committee.VerifyQuorum(AnyValid, message, many); err != nil || weight != 12 {
		t.Fatal(weight, err)
	}
}

// modelled is the answer of a rule, spelled out: the weight, or the vote and the reason.
func modelled(rule QuorumRule, weights []uint64, required uint64, valid []bool, votes []Vote) (uint64, int, error) {
	counted, claimed, order := map[uint32]int{}, uint64(0), []int(nil)
	for n, vote := range votes {
		if rule != AnyValid && int(vote.Member) >= len(weights) {
			return 0, n, ErrMember
		}
	}
	for n, vote := range votes {
		if rule == AnyValid {
			if _, repeated := counted[vote.Member]; valid[n] && !repeated && claimed < required {
				counted[vote.Member] = n
				claimed += weights[vote.Member]
			}
			continue
		}
		first, repeated := counted[vote.Member]
		switch {
		case repeated && string(votes[first].Signature) != string(vote.Signature):
			return 0, n, ErrConflictingVotes
		case repeated && rule == Certificate:
			return 0, n, ErrDuplicateVote
		case !repeated:
			counted[vote.Member], order = n, append(order, n)
			claimed += weights[vote.Member]
		}
	}
	if claimed < required {
		return 0, -1, ErrInsufficientWeight
	}
	for _, n := range order {
		if !valid[n] {
			return 0, n, ErrInvalid
		}
	}
	return claimed, 0, nil
}

// Each implementation has the answers of the model, so that all of them have the same.
func TestQuorumsAreThoseOfTheModel(t *testing.T) {
	message := []byte("block 7")
	r := rand.New(rand.NewPCG(9, 9))
	weights := []uint64{1, 2, 4, 8, 3}
	var list []Member
	signatures := [][]byte{nil, {1}}
	for n, weight := range weights {
		key := seeded(t, MLDSA44, n)
		list = append(list, Member{key.PublicKey(), weight})
		signatures = append(signatures, signed(t, key, message, nil))
	}
	answers := map[string]int{}
	for round := range 600 {
		threshold := Threshold{1 + uint32(r.IntN(3)), 4}
		committee, err := NewCommittee(CommitteeOptions{Set: MLDSA44, Threshold: threshold}, list)
		if err != nil {
			t.Fatal(err)
		}
		var votes []Vote
		var valid []bool
		orderly := r.IntN(3) > 0
		for n, member := range r.Perm(5)[:r.IntN(6)] {
			vote := Vote{Member: uint32(member), Message: []byte("not read")}
			which := member + 2
			if !orderly {
				switch r.IntN(8) {
				case 0:
					which = r.IntN(len(signatures))
				case 1:
					vote.Member = uint32(r.IntN(7))
				}
			}
			vote.Signature = signatures[which]
			votes, valid = append(votes, vote), append(valid, int(vote.Member)+2 == which)
			for !orderly && r.IntN(4) == 0 {
				again := r.IntN(n + 1)
				votes, valid = append(votes, votes[again]), append(valid, valid[again])
			}
		}
		required := 18*uint64(threshold.Numerator)/4 + 1
		for _, rule := range []QuorumRule{Certificate, CertificateWithDuplicates, AnyValid} {
			weight, place, reason := modelled(rule, weights, required, valid, votes)
			found, err := committee.VerifyQuorum(rule, message, votes)
			var why *QuorumError
			if found != weight || (err == nil) != (reason == nil) ||
				err != nil && (!errors.As(err, &why) || why.Vote != place || why.Reason != reason) {
				t.Fatal(round, rule, "found", found, err, "model", weight, place, reason)
			}
			answers[fmt.Sprint(rule, reason)]++
		}
	}
	if len(answers) < 12 {
		t.Fatal("few answers:", answers)
	}
}
