package mldsa

import (
	"bytes"
	"fmt"
	"math"
	"math/big"
)

// Threshold is a fraction of the total weight, less than 1. A quorum has more.
type Threshold struct{ Numerator, Denominator uint32 }

// TwoThirds is the threshold of most protocols.
var TwoThirds = Threshold{2, 3}

// QuorumRule selects which votes make a quorum.
type QuorumRule int

// The rules.
const (
	// Certificate requires that all votes are valid, one for each member.
	Certificate QuorumRule = iota
	// CertificateWithRepeats allows votes that are repeated byte for byte; they count once.
	CertificateWithRepeats
	// AnyValid counts the valid votes and ignores the others.
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
	if e.Vote < 0 {
		return e.Reason.Error()
	}
	return fmt.Sprintf("%v (vote %d)", e.Reason, e.Vote)
}

// Unwrap returns the reason.
func (e *QuorumError) Unwrap() error { return e.Reason }

// Quorum returns the weight of the votes for message, at most 2^64 - 1, if they reach the threshold
// under a rule, and a *QuorumError otherwise. The messages of the votes are not read.
func (c *Committee) Quorum(rule QuorumRule, message []byte, votes []Vote) (uint64, error) {
	if rule < Certificate || rule > AnyValid {
		return 0, ErrOptions
	}
	counted := make([]Vote, 0, len(votes))
	places := make([]int, 0, len(votes))
	first := make(map[uint32][]byte, len(c.members))
	for place, vote := range votes {
		if int(vote.Member) >= len(c.members) {
			if rule == AnyValid {
				continue
			}
			return 0, &QuorumError{place, ErrMember}
		}
		counted = append(counted, Vote{vote.Member, message, vote.Signature})
		places = append(places, place)
	}
	if rule == AnyValid {
		return c.validWeight(counted)
	}
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
	weight, err := c.reached(distinct)
	if err != nil {
		return 0, err
	}
	_, verdicts := c.Verify(distinct)
	for i, valid := range verdicts {
		if !valid {
			return 0, &QuorumError{places[i], ErrInvalid}
		}
	}
	return weight, nil
}

// validWeight verifies the votes until the valid ones reach the threshold.
func (c *Committee) validWeight(votes []Vote) (uint64, error) {
	const step = 64
	voted := make([]bool, len(c.members))
	var valid []Vote
	weight, err := c.reached(nil)
	for err != nil && len(votes) > 0 {
		part := make([]Vote, 0, step)
		for len(votes) > 0 && len(part) < step {
			if !voted[votes[0].Member] {
				part = append(part, votes[0])
			}
			votes = votes[1:]
		}
		_, verdicts := c.Verify(part)
		for i, vote := range part {
			if verdicts[i] && !voted[vote.Member] {
				voted[vote.Member] = true
				valid = append(valid, vote)
			}
		}
		weight, err = c.reached(valid)
	}
	return weight, err
}

// reached returns the weight of votes of different members, or ErrInsufficientWeight.
func (c *Committee) reached(votes []Vote) (uint64, error) {
	// The sums may exceed 64 bits.
	sum, total := new(big.Int), new(big.Int)
	for _, vote := range votes {
		sum.Add(sum, new(big.Int).SetUint64(c.members[vote.Member].Weight))
	}
	for _, member := range c.members {
		total.Add(total, new(big.Int).SetUint64(member.Weight))
	}
	weight := uint64(math.MaxUint64)
	if sum.IsUint64() {
		weight = sum.Uint64()
	}
	total.Mul(total, big.NewInt(int64(c.threshold.Numerator)))
	if sum.Mul(sum, big.NewInt(int64(c.threshold.Denominator))).Cmp(total) <= 0 {
		return 0, &QuorumError{-1, ErrInsufficientWeight}
	}
	return weight, nil
}
