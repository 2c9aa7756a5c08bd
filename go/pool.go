//go:build mldsa_cgo || mldsa_purego

package mldsa

import (
	"sync"
	"sync/atomic"
)

// Bounds of the committees of batches: contexts, and keys for each.
const (
	maxPools    = 16
	maxPoolKeys = 1024
)

// pool is a growing committee of the keys that batches under one context have named twice.
type pool struct {
	state atomic.Pointer[poolState]
	grow  sync.Mutex
}

// poolState is immutable.
type poolState struct {
	committee *Committee
	indices   map[*PublicKey]uint32
}

type poolID struct {
	set     Set
	context string
}

var pools = struct {
	sync.Mutex
	all map[poolID]*pool
}{all: map[poolID]*pool{}}

func poolOf(set Set, context []byte) *pool {
	pools.Lock()
	defer pools.Unlock()
	id := poolID{set, string(context)}
	if found := pools.all[id]; found != nil {
		return found
	}
	if len(pools.all) >= maxPools {
		clear(pools.all)
	}
	made := &pool{}
	made.state.Store(&poolState{indices: map[*PublicKey]uint32{}})
	pools.all[id] = made
	return made
}

// with returns a state that has the keys which were in an earlier batch.
func (p *pool) with(set Set, context []byte, keys []*PublicKey) *poolState {
	state := p.state.Load()
	missing := state.missing(keys)
	if len(missing) == 0 {
		return state
	}
	p.grow.Lock()
	defer p.grow.Unlock()
	state = p.state.Load()
	if missing = state.missing(keys); len(missing) == 0 {
		return state
	}
	if state.committee != nil && state.committee.Len()+len(missing) > maxPoolKeys {
		// All over again, with the keys of this batch.
		state = &poolState{}
		missing = state.missing(keys)
	}
	if len(missing) > maxPoolKeys {
		return state
	}
	list := make([]Member, len(missing))
	for i, key := range missing {
		list[i] = Member{key, 1}
	}
	next := &poolState{indices: make(map[*PublicKey]uint32, len(state.indices)+len(missing))}
	var err error
	if state.committee == nil {
		next.committee, err = NewCommittee(set, context, 1, withoutDuplicates(list))
	} else {
		next.committee, err = state.committee.Successor(state.committee.Epoch()+1, list)
	}
	if err != nil {
		return state
	}
	for key, index := range state.indices {
		next.indices[key] = index
	}
	for _, key := range missing {
		if index, err := next.committee.Index(key); err == nil {
			next.indices[key] = index
		}
	}
	if len(next.indices) > 4*maxPoolKeys {
		// Many values of few keys: the next batch begins again.
		p.state.Store(&poolState{})
	} else {
		p.state.Store(next)
	}
	return next
}

func withoutDuplicates(list []Member) []Member {
	seen := map[string]bool{}
	var kept []Member
	for _, member := range list {
		if !seen[member.Key.encoded] {
			seen[member.Key.encoded] = true
			kept = append(kept, member)
		}
	}
	return kept
}

// missing returns the keys without an index that were in a batch before, once each.
func (s *poolState) missing(keys []*PublicKey) []*PublicKey {
	var missing []*PublicKey
	var seen map[*PublicKey]bool
	for _, key := range keys {
		if _, ok := s.indices[key]; ok || !key.batched.Load() || seen[key] {
			continue
		}
		if seen == nil {
			seen = map[*PublicKey]bool{}
		}
		seen[key] = true
		missing = append(missing, key)
	}
	return missing
}

func verifyBatch(b *Batch, verdicts []bool) {
	state := poolOf(b.set, b.context).with(b.set, b.context, b.keys)
	b.chosen, b.places = b.chosen[:0], b.places[:0]
	for i, key := range b.keys {
		part := b.parts[i]
		if index, ok := state.indices[key]; ok {
			part.member = index
			b.chosen, b.places = append(b.chosen, part), append(b.places, i)
			continue
		}
		verdicts[i] = key.Verify(part.messageOf(b.data), b.context, part.signatureOf(b.data))
		if verdicts[i] {
			// From now on in the committee: only valid signatures make it grow.
			key.batched.Store(true)
		}
	}
	if len(b.chosen) == 0 {
		return
	}
	found := b.room(len(b.chosen))
	state.committee.native.verify(b.data, b.chosen, found)
	for i, verdict := range found {
		verdicts[b.places[i]] = verdict == verdictValid
	}
}
