package mldsa

import (
	"bytes"
	"slices"
)

// Member is a public key with its weight.
type Member struct {
	Key    *PublicKey
	Weight uint64
}

// Vote is a member's signature of a message.
type Vote struct {
	// Member is the index in the committee.
	Member    uint32
	Message   []byte
	Signature []byte
}

// CommitteeOptions are what a committee has besides its members.
type CommitteeOptions struct {
	Set Set
	// Context of all votes, at most 255 bytes.
	Context []byte
	Epoch   uint64
	// Threshold of a quorum; the zero value is TwoThirds.
	Threshold Threshold
}

// Committee is the immutable list of the validators of an epoch, with weights, threshold and context.
type Committee struct {
	set       Set
	epoch     uint64
	threshold Threshold
	context   []byte
	members   []Member
	index     map[string]uint32
	native    votesVerifier
}

// votesVerifier is what an implementation holds for a committee.
type votesVerifier interface {
	// verify sets valid[i] to whether vote i is valid. All are false before.
	verify(c *Committee, votes []Vote, valid []bool)
	// quorum verifies one of the rules.
	quorum(c *Committee, rule QuorumRule, message []byte, votes []Vote) (uint64, error)
	successor(next *Committee, changes []Member) (votesVerifier, error)
}

// NewCommittee makes a committee of at least one member, each with a weight above 0, without
// duplicate keys.
func NewCommittee(options CommitteeOptions, list []Member) (*Committee, error) {
	if options.Set.PublicKeySize() == 0 {
		return nil, ErrSet
	}
	if len(options.Context) > MaxContext {
		return nil, ErrContext
	}
	threshold := options.Threshold
	if threshold == (Threshold{}) {
		threshold = TwoThirds
	}
	if threshold.Numerator == 0 || threshold.Numerator >= threshold.Denominator {
		return nil, ErrCommittee
	}
	c := &Committee{
		set: options.Set, epoch: options.Epoch, threshold: threshold, context: bytes.Clone(options.Context),
		index: map[string]uint32{},
	}
	for _, member := range list {
		if err := c.accepts(member); err != nil {
			return nil, err
		}
		c.add(member)
	}
	if len(c.members) == 0 || len(c.index) != len(list) {
		return nil, ErrCommittee
	}
	for _, member := range c.members {
		if member.Weight == 0 {
			return nil, ErrCommittee
		}
	}
	var err error
	if c.native, err = newVotesVerifier(c); err != nil {
		return nil, err
	}
	return c, nil
}

func (c *Committee) accepts(member Member) error {
	if member.Key.Set() != c.set {
		return ErrMixedSets
	}
	return nil
}

func (c *Committee) add(member Member) {
	c.index[member.Key.encoded] = uint32(len(c.members))
	c.members = append(c.members, member)
}

// Successor makes the committee of a later epoch: a key with a weight joins or gets that weight, a
// key with weight 0 leaves. Changes that are already in force, and repetitions of a change, change
// nothing. Members that stay keep their order and their expanded keys; new ones are appended.
func (c *Committee) Successor(epoch uint64, changes []Member) (*Committee, error) {
	if c.Len() == 0 || epoch <= c.epoch {
		return nil, ErrCommittee
	}
	weights := make(map[string]uint64, len(changes))
	for _, change := range changes {
		if err := c.accepts(change); err != nil {
			return nil, err
		}
		id := change.Key.encoded
		if weight, named := weights[id]; named && weight != change.Weight {
			return nil, ErrCommittee
		}
		weights[id] = change.Weight
	}
	next := &Committee{
		set: c.set, epoch: epoch, threshold: c.threshold, context: c.context,
		index: make(map[string]uint32, len(c.index)),
	}
	for _, member := range c.members {
		if weight, named := weights[member.Key.encoded]; named {
			member.Weight = weight
		}
		if member.Weight > 0 {
			next.add(member)
		}
	}
	for _, change := range changes {
		if _, known := next.index[change.Key.encoded]; !known && change.Weight > 0 {
			next.add(change)
		}
	}
	if len(next.members) == 0 {
		return nil, ErrCommittee
	}
	var err error
	if next.native, err = c.native.successor(next, changes); err != nil {
		return nil, err
	}
	return next, nil
}

// Len returns the number of members; 0 for the zero value.
func (c *Committee) Len() int {
	if c == nil {
		return 0
	}
	return len(c.members)
}

// Epoch returns the epoch.
func (c *Committee) Epoch() uint64 {
	if c == nil {
		return 0
	}
	return c.epoch
}

// has reports whether there is a member with this index, which may exceed an int of 32 bits.
func (c *Committee) has(member uint32) bool { return uint64(member) < uint64(c.Len()) }

// Index returns the index of a member.
func (c *Committee) Index(key *PublicKey) (uint32, error) {
	if c.Len() == 0 || key.Set() != c.set {
		return 0, ErrMember
	}
	index, ok := c.index[key.encoded]
	if !ok {
		return 0, ErrMember
	}
	return index, nil
}

// VerifyBatch returns whether there is a vote and all are valid, and one verdict for each.
func (c *Committee) VerifyBatch(votes []Vote) (bool, []bool) {
	valid := make([]bool, len(votes))
	if c.Len() == 0 || len(votes) == 0 {
		return false, valid
	}
	c.native.verify(c, votes, valid)
	return !slices.Contains(valid, false), valid
}

// verifyAlone verifies one vote under the key of its member.
func (c *Committee) verifyAlone(vote Vote) bool {
	return c.has(vote.Member) && c.members[vote.Member].Key.Verify(vote.Message, c.context, vote.Signature)
}
