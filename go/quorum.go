package mldsa

import (
	"bytes"
	"fmt"
	"math"
	"math/big"
)

// Threshold is a fraction of the total weight, more than 0 and less than 1. A quorum has more.
type Threshold struct{ Numerator, Denominator uint32 }

// TwoThirds is the threshold of most protocols.
var TwoThirds = Threshold{2, 3}

// QuorumRule selects which votes make a quorum.
type QuorumRule int

// The rules.
const (
	// Certificate requires that all votes are valid, one for each member.
	Certificate QuorumRule = iota
	// CertificateWithDuplicates allows duplicates of votes, byte for byte; they count once.
	CertificateWithDuplicates
	// AnyValid counts the valid votes in order until they reach the threshold, and ignores the
	// others.
	AnyValid
)

// QuorumError is the reason why votes are no quorum.
type QuorumError struct {
	// Vote is the index of the rejected vote, or -1.
	Vote int
	// Reason is ErrMember, ErrDuplicateVote, ErrConflictingVotes, ErrInvalid or
	// ErrInsufficientWeight.
	Reason error
}

// Error returns the reason with the index of the vote.
func (e *QuorumError) Error() string {
	if e == nil || e.Reason == nil {
		return "mldsa: no quorum"
	}
	if e.Vote < 0 {
		return e.Reason.Error()
	}
	return fmt.Sprintf("%v (vote %d)", e.Reason, e.Vote)
}

// Unwrap returns the reason.
func (e *QuorumError) Unwrap() error {
	if e == nil {
		return nil
	}
	return e.Reason
}

// VerifyQuorum returns the weight of the counted votes for message, at most 2^64 - 1, if they reach the
// threshold under a rule, and a *QuorumError otherwise. The messages of the votes are not read.
func (c *Committee) VerifyQuorum(rule QuorumRule, message []byte, votes []Vote) (uint64, error) {
	if c.Len() == 0 {
		return 0, ErrCommittee
	}
	if rule < Certificate || rule > AnyValid {
		return 0, ErrOptions
	}
	counted := make([]Vote, 0, len(votes))
	places := make([]int, 0, len(votes))
	for place, vote := range votes {
		known := c.has(vote.Member)
		if rule == AnyValid && (!known || len(vote.Signature) != c.set.SignatureSize()) {
			continue
		}
		if !known {
			return 0, &QuorumError{place, ErrMember}
		}
		counted = append(counted, Vote{vote.Member, message, vote.Signature})
		places = append(places, place)
	}
	if rule == AnyValid {
		return c.validWeight(counted)
	}
	first := make(map[uint32][]byte, min(len(counted), len(c.members)))
	distinct := counted[:0]
	for i, vote := range counted {
		signature, repeated := first[vote.Member]
		switch {
		case !repeated:
			first[vote.Member] = vote.Signature
			places[len(distinct)] = places[i]
			distinct = append(distinct, vote)
		case !bytes.Equal(signature, vote.Signature):
			return 0, &QuorumError{places[i], ErrConflictingVotes}
		case rule == Certificate:
			return 0, &QuorumError{places[i], ErrDuplicateVote}
		}
	}
	sum := new(big.Int)
	for _, vote := range distinct {
		sum.Add(sum, c.weight(vote.Member))
	}
	weight, err := c.reached(sum)
	if err != nil {
		return 0, err
	}
	_, verdicts := c.VerifyBatch(distinct)
	for i, valid := range verdicts {
		if !valid {
			return 0, &QuorumError{places[i], ErrInvalid}
		}
	}
	return weight, nil
}

// validWeight counts votes of members in order until the valid ones reach the threshold, or the
// votes that are left cannot. Later votes carry no weight, so the answer does not depend on how
// many are verified at once.
func (c *Committee) validWeight(votes []Vote) (uint64, error) {
	const lanes, maxStep = 64, 4096
	required := c.required()
	reached := func(sum *big.Int) bool { return sum.Cmp(required) >= 0 }
	// Uncounted votes of each member, and the weight of members that have some and no valid one.
	ahead, open := make([]int, len(c.members)), new(big.Int)
	for _, vote := range votes {
		if ahead[vote.Member]++; ahead[vote.Member] == 1 {
			open.Add(open, c.weight(vote.Member))
		}
	}
	voted, sum := make([]bool, len(c.members)), new(big.Int)
	for step := 0; !reached(sum) && reached(new(big.Int).Add(sum, open)); {
		// The votes that suffice if all are valid; after a failure enough for a batch, and more
		// each time.
		var part []Vote
		hoped, hopes := new(big.Int).Set(sum), make(map[uint32]bool)
		for len(votes) > 0 && len(part) < maxStep && (len(part) < step || !reached(hoped)) {
			vote := votes[0]
			votes = votes[1:]
			if voted[vote.Member] {
				continue
			}
			if !hopes[vote.Member] {
				hopes[vote.Member] = true
				hoped.Add(hoped, c.weight(vote.Member))
			}
			part = append(part, vote)
		}
		step = min(max(2*step, lanes), maxStep)
		_, verdicts := c.VerifyBatch(part)
		for i, vote := range part {
			if voted[vote.Member] || reached(sum) {
				continue
			}
			weight := c.weight(vote.Member)
			if voted[vote.Member] = verdicts[i]; verdicts[i] {
				sum.Add(sum, weight)
			}
			if ahead[vote.Member]--; verdicts[i] || ahead[vote.Member] == 0 {
				open.Sub(open, weight)
			}
		}
	}
	return c.reached(sum)
}

func (c *Committee) weight(member uint32) *big.Int {
	return new(big.Int).SetUint64(c.members[member].Weight)
}

// required returns the least weight above the threshold. Sums of weights may exceed 64 bits.
func (c *Committee) required() *big.Int {
	sum := new(big.Int)
	for member := range c.members {
		sum.Add(sum, c.weight(uint32(member)))
	}
	sum.Mul(sum, big.NewInt(int64(c.threshold.Numerator)))
	sum.Div(sum, big.NewInt(int64(c.threshold.Denominator)))
	return sum.Add(sum, big.NewInt(1))
}

// reached returns a weight, or ErrInsufficientWeight.
func (c *Committee) reached(sum *big.Int) (uint64, error) {
	if sum.Cmp(c.required()) < 0 {
		return 0, &QuorumError{-1, ErrInsufficientWeight}
	}
	if !sum.IsUint64() {
		return math.MaxUint64, nil
	}
	return sum.Uint64(), nil
}
