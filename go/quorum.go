package mldsa

import "fmt"

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
// threshold under a rule, and a *QuorumError otherwise. The messages of the votes are not read. Other
// errors are ErrCommittee, ErrOptions and, above 4 GiB of signatures, ErrTooLarge.
func (c *Committee) VerifyQuorum(rule QuorumRule, message []byte, votes []Vote) (uint64, error) {
	if c.Len() == 0 {
		return 0, ErrCommittee
	}
	if rule < Certificate || rule > AnyValid {
		return 0, ErrOptions
	}
	return c.native.quorum(c, rule, message, votes)
}
