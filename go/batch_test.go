package mldsa

import (
	"bytes"
	"runtime"
	"testing"
)

// allocated returns how many bytes a function allocates.
func allocated(function func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	function()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// A message that many signatures share is not copied for each of them.
func TestASharedMessageIsCopiedOnce(t *testing.T) {
	const count, most = 40, 2 << 20
	message := bytes.Repeat([]byte("block 7 "), 1<<14)
	var list []Member
	var votes []Vote
	for n := range count {
		private := seeded(t, MLDSA44, n)
		list = append(list, Member{private.PublicKey(), 1})
		votes = append(votes, Vote{uint32(n), message, signed(t, private, message, nil)})
	}
	committee, err := NewCommittee(CommitteeOptions{Set: MLDSA44, Epoch: 1}, list)
	if err != nil {
		t.Fatal(err)
	}
	for _, rule := range []QuorumRule{Certificate, AnyValid} {
		if bytes := allocated(func() {
			if weight, err := committee.VerifyQuorum(rule, message, votes); err != nil || weight < 27 {
				t.Error(rule, weight, err)
			}
		}); bytes > most {
			t.Error("a quorum allocates", bytes, "bytes")
		}
	}
	if bytes := allocated(func() {
		if all, verdicts := committee.VerifyBatch(votes); !all {
			t.Error(verdicts)
		}
	}); bytes > most {
		t.Error("a list of votes allocates", bytes, "bytes")
	}
	if bytes := allocated(func() {
		batch, _ := NewBatch(MLDSA44, nil)
		for n, vote := range votes {
			if err := batch.Add(list[n].Key, message, vote.Signature); err != nil {
				t.Error(err)
			}
		}
		if all, verdicts := batch.Verify(); !all {
			t.Error(verdicts)
		}
	}); bytes > most {
		t.Error("a batch allocates", bytes, "bytes")
	}
}

// The caller may change the memory of a message after Add.
func TestABatchKeepsTheMessages(t *testing.T) {
	private := seeded(t, MLDSA44, 1)
	batch, _ := NewBatch(MLDSA44, nil)
	buffer := make([]byte, 3)
	var want []bool
	for n, text := range []string{"", "abc", "abc", "abd", "ab", "", "", "abd", "abc"} {
		copy(buffer, text)
		signature := signed(t, private, []byte(text), nil)
		signature[0] ^= byte(n % 4 / 3)
		if err := batch.Add(private.PublicKey(), buffer[:len(text)], signature); err != nil {
			t.Fatal(err)
		}
		want = append(want, n%4 != 3)
		copy(buffer, "xyz")
	}
	all, verdicts := batch.Verify()
	for n, valid := range verdicts {
		if valid != want[n] {
			t.Error(n, valid)
		}
	}
	if all || len(verdicts) != len(want) {
		t.Fatal(verdicts)
	}
}

// A batch that is full keeps what it has.
func TestAFullBatch(t *testing.T) {
	defer func(most uint64) { maxBatchData = most }(maxBatchData)
	maxBatchData = 10_000
	private := seeded(t, MLDSA44, 1)
	batch, _ := NewBatch(MLDSA44, nil)
	add := func(size int) error {
		message := make([]byte, size)
		return batch.Add(private.PublicKey(), message, signed(t, private, message, nil))
	}
	const rest = 1312 + 2420
	for n, test := range []struct {
		size int
		want error
	}{
		{10_001 - rest, ErrTooLarge}, {1000, nil}, {10_001 - 1000 - 2*rest, ErrTooLarge},
		{10_000 - 1000 - 2*rest, nil}, {0, ErrTooLarge},
	} {
		if err := add(test.size); err != test.want {
			t.Fatal(n, err)
		}
	}
	if all, verdicts := batch.Verify(); !all || len(verdicts) != 2 {
		t.Fatal(verdicts)
	}
	batch.Reset()
	if err := add(10_000 - rest); err != nil {
		t.Fatal(err)
	}
}

// The memory of a large batch is not kept.
func TestThePoolKeepsNoLargeMemory(t *testing.T) {
	pooled.Put(new(buffers))
	large := &Batch{set: MLDSA44, buffers: &buffers{data: make([]byte, 1, maxPooled+1)}}
	large.Reset()
	for range 100 {
		if found := pooled.Get().(*buffers); cap(found.data) > maxPooled {
			t.Fatal(cap(found.data), "bytes")
		}
	}
}
