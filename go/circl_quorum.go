//go:build !mldsa_cgo && !mldsa_purego

package mldsa

import (
	"bytes"
	"math"
	"math/big"
)

// quorum has the rules of the Rust library. Tests compare both with one model.
func (circlVotes) quorum(c *Committee, rule QuorumRule, message []byte, votes []Vote) (uint64, error) {
	if rule == AnyValid {
		return c.validWeight(message, votes)
	}
	for place, vote := range votes {
		if !c.has(vote.Member) {
			return 0, &QuorumError{place, ErrMember}
		}
	}
	first := make(map[uint32][]byte, min(len(votes), len(c.members)))
	var places []int
	sum := new(big.Int)
	for place, vote := range votes {
		signature, repeated := first[vote.Member]
		switch {
		case !repeated:
			first[vote.Member] = vote.Signature
			places = append(places, place)
			sum.Add(sum, c.weight(vote.Member))
		case !bytes.Equal(signature, vote.Signature):
			return 0, &QuorumError{place, ErrConflictingVotes}
		case rule == Certificate:
			return 0, &QuorumError{place, ErrDuplicateVote}
		}
	}
	weight, err := c.reached(sum)
	if err != nil {
		return 0, err
	}
	for _, place := range places {
		if vote := votes[place]; !c.verifyAlone(Vote{vote.Member, message, vote.Signature}) {
			return 0, &QuorumError{place, ErrInvalid}
		}
	}
	return weight, nil
}

// validWeight counts the valid votes in order, one for each member, until they reach the threshold. It
// verifies none if all of them would not.
func (c *Committee) validWeight(message []byte, votes []Vote) (uint64, error) {
	usable := func(vote Vote, counted map[uint32]bool) bool {
		return c.has(vote.Member) && len(vote.Signature) == c.set.SignatureSize() && !counted[vote.Member]
	}
	claimed, claims := new(big.Int), map[uint32]bool{}
	for _, vote := range votes {
		if usable(vote, claims) {
			claims[vote.Member] = true
			claimed.Add(claimed, c.weight(vote.Member))
		}
	}
	if _, err := c.reached(claimed); err != nil {
		return 0, err
	}
	required, sum, counted := c.required(), new(big.Int), map[uint32]bool{}
	for _, vote := range votes {
		if sum.Cmp(required) >= 0 {
			break
		}
		if usable(vote, counted) && c.verifyAlone(Vote{vote.Member, message, vote.Signature}) {
			counted[vote.Member] = true
			sum.Add(sum, c.weight(vote.Member))
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
