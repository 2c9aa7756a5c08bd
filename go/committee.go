package mldsa

import (
	"bytes"
	"math/big"
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

// Committee is the immutable list of the validators of an epoch, with weights and context. A quorum
// is more than two thirds of the weight.
type Committee struct {
	set     Set
	epoch   uint64
	members []Member
	index   map[string]uint32
	native  members
}

// members is what an implementation holds for a committee.
type members interface {
	verify(data []byte, votes []packed, verdicts []bool)
	successor(epoch uint64, keys []byte, weights []uint64) (members, error)
}

// NewCommittee makes a committee of at least one member, each with a weight above 0, without
// duplicate keys. All votes are under context.
func NewCommittee(set Set, context []byte, epoch uint64, list []Member) (*Committee, error) {
	if set.PublicKeySize() == 0 {
		return nil, ErrSet
	}
	if len(context) > MaxContext {
		return nil, ErrContext
	}
	c := &Committee{set: set, epoch: epoch, index: map[string]uint32{}}
	for _, member := range list {
		if member.Weight == 0 {
			return nil, ErrCommittee
		}
		if err := c.add(member); err != nil {
			return nil, err
		}
	}
	if len(c.members) == 0 || len(c.members) != len(list) {
		return nil, ErrCommittee
	}
	keys, weights := concatenated(list)
	native, err := newMembers(set, context, epoch, keys, weights)
	c.native = native
	return c, err
}

// add appends a member that is not there yet.
func (c *Committee) add(member Member) error {
	if member.Key == nil || member.Key.set != c.set {
		return ErrMixedSets
	}
	id := string(member.Key.encoded)
	if _, known := c.index[id]; !known {
		c.index[id] = uint32(len(c.members))
		c.members = append(c.members, member)
	}
	return nil
}

func concatenated(list []Member) (keys []byte, weights []uint64) {
	for _, member := range list {
		keys = append(keys, member.Key.encoded...)
		weights = append(weights, member.Weight)
	}
	return keys, weights
}

// WithMembers makes the committee of a later epoch with further members. A key that is a member
// already, or is named again, changes nothing. The members of c keep index, weight and expanded key.
func (c *Committee) WithMembers(epoch uint64, list []Member) (*Committee, error) {
	if epoch <= c.epoch {
		return nil, ErrCommittee
	}
	next := &Committee{set: c.set, epoch: epoch, index: make(map[string]uint32, len(c.index))}
	for _, member := range append(append([]Member(nil), c.members...), list...) {
		if member.Weight == 0 {
			return nil, ErrCommittee
		}
		if err := next.add(member); err != nil {
			return nil, err
		}
	}
	keys, weights := concatenated(next.members[len(c.members):])
	native, err := c.native.successor(epoch, keys, weights)
	next.native = native
	return next, err
}

// Len returns the number of members.
func (c *Committee) Len() int { return len(c.members) }

// Epoch returns the epoch.
func (c *Committee) Epoch() uint64 { return c.epoch }

// Index returns the index of a member.
func (c *Committee) Index(key *PublicKey) (uint32, error) {
	if key == nil || key.set != c.set {
		return 0, ErrMember
	}
	index, ok := c.index[string(key.encoded)]
	if !ok {
		return 0, ErrMember
	}
	return index, nil
}

// Verify returns whether there is a vote and all are valid, and one verdict for each.
func (c *Committee) Verify(votes []Vote) (bool, []bool) {
	verdicts := make([]bool, len(votes))
	pooled := buffers.Get().(*[]byte)
	defer buffers.Put(pooled)
	data := (*pooled)[:0]
	parts := make([]packed, 0, len(votes))
	places := make([]int, 0, len(votes))
	for place, vote := range votes {
		if int(vote.Member) >= len(c.members) || len(vote.Signature) != c.set.SignatureSize() ||
			uint64(len(data))+uint64(len(vote.Message))+uint64(len(vote.Signature)) > 1<<32-1 {
			continue
		}
		part := pack(&data, vote.Message, vote.Signature)
		part.member = vote.Member
		parts = append(parts, part)
		places = append(places, place)
	}
	*pooled = data[:0]
	found := make([]bool, len(parts))
	if len(parts) > 0 {
		c.native.verify(data, parts, found)
	}
	all := len(votes) > 0 && len(parts) == len(votes)
	for i, valid := range found {
		verdicts[places[i]] = valid
		all = all && valid
	}
	return all, verdicts
}

// Quorum returns whether the valid votes for message carry more than two thirds of the weight. A
// member counts once; votes for other messages do not count.
func (c *Committee) Quorum(message []byte, votes []Vote) bool {
	counted := make([]Vote, 0, len(votes))
	for _, vote := range votes {
		if bytes.Equal(vote.Message, message) {
			counted = append(counted, vote)
		}
	}
	_, verdicts := c.Verify(counted)
	voted := make([]bool, len(c.members))
	for i, vote := range counted {
		if verdicts[i] {
			voted[vote.Member] = true
		}
	}
	return c.exceeds(voted)
}

// exceeds reports whether the members with a vote have more than two thirds of the weight.
func (c *Committee) exceeds(voted []bool) bool {
	// The sums may exceed 64 bits: 3 * valid > 2 * total in big integers.
	valid, total := new(big.Int), new(big.Int)
	for i, member := range c.members {
		weight := new(big.Int).SetUint64(member.Weight)
		total.Add(total, weight)
		if voted[i] {
			valid.Add(valid, weight)
		}
	}
	return valid.Mul(valid, big.NewInt(3)).Cmp(total.Mul(total, big.NewInt(2))) > 0
}
