//go:build mldsa_cgo || mldsa_purego

package mldsa

import (
	"bytes"
	"runtime/debug"
	"slices"
	"testing"
)

// checkExpanded checks that exactly want of the keys are expanded, and that NativeKeys counts them.
// Until then there were before; the collector may free those of other tests at any time.
func checkExpanded(t *testing.T, before, want int, keys ...*PublicKey) {
	t.Helper()
	expanded := map[*held]bool{}
	for _, key := range keys {
		if native := key.native.Load(); native.current.Load() != nil {
			expanded[native] = true
		}
	}
	if len(expanded) != want {
		t.Fatalf("%d expanded keys, not %d", len(expanded), want)
	}
	if all := NativeKeys(); all < want || all > before+want {
		t.Fatalf("NativeKeys() is %d: %d of this test, and at most %d others", all, want, before)
	}
}

// Expanded keys that leave a cache are freed without the garbage collector, which is off here.
func TestACacheBoundsTheMemoryOfTheLibrary(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	const size, count = 64, 400
	before := NativeKeys()
	keys := NewKeys(size)
	var values []*PublicKey
	for n := range count {
		private := seeded(t, MLDSA44, n)
		encoded, signature := private.PublicKey().Bytes(), signed(t, private, nil, nil)
		// The second value of a key shares the expansion of the first.
		for range 2 {
			key, err := keys.Parse(MLDSA44, encoded)
			if err != nil || !key.Verify(nil, nil, signature) {
				t.Fatal(n, err)
			}
			values = append(values, key)
		}
		checkExpanded(t, before, min(n+1, size), values...)
	}
	// A key that left is usable, and a use does not bring it back.
	private, first := seeded(t, MLDSA44, 0), values[0]
	for range 3 {
		if !first.Verify(nil, nil, signed(t, private, nil, nil)) || first.Verify([]byte("m"), nil, signed(t, private, nil, nil)) {
			t.Fatal("a key that left the cache")
		}
	}
	checkExpanded(t, before, size, values...)
}

func TestReleaseFreesAnExpandedKey(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	before := NativeKeys()
	private := seeded(t, MLDSA65, 1)
	signature := signed(t, private, nil, nil)
	key := private.PublicKey()
	for range 3 {
		key.Prepare().Prepare()
		checkExpanded(t, before, 1, key)
		if !key.Verify(nil, nil, signature) {
			t.Fatal("an expanded key")
		}
		key.Release()
		key.Release()
		checkExpanded(t, before, 0, key)
		if !key.Verify(nil, nil, signature) {
			t.Fatal("a released key")
		}
	}
}

// A verification keeps an expanded key that leaves its cache, and nobody waits for the verification:
// here it ends after everything else.
func TestNobodyWaitsForAVerificationUnderAKeyThatLeft(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	before := NativeKeys()
	keys := NewKeys(1)
	private, other := seeded(t, MLDSA44, 5), seeded(t, MLDSA44, 6)
	signature := signed(t, private, nil, nil)
	parse := func(private *PrivateKey) *PublicKey {
		key, err := keys.Parse(MLDSA44, private.PublicKey().Bytes())
		if err != nil {
			t.Fatal(err)
		}
		return key
	}
	first, second := parse(private), parse(private)
	for _, key := range []*PublicKey{first, second} {
		if !key.Verify(nil, nil, signature) {
			t.Fatal("a valid signature")
		}
	}
	running := first.native.Load().acquire()
	if running == nil {
		t.Fatal("the key is not expanded")
	}
	if !parse(other).Verify(nil, nil, signed(t, other, nil, nil)) || keys.Len() != 1 || parse(private) == first {
		t.Fatal("the key did not leave")
	}
	first.Release()
	second.Prepare().Release()
	if first.native.Load().current.Load() != nil || running.references.Load() != 1 || NativeKeys() < 1 {
		t.Fatal("an expansion in use was freed")
	}
	if !verifyWith(running.handle, input{}, signature) || !first.Verify(nil, nil, signature) {
		t.Fatal("a valid signature")
	}
	running.drop()
	if all := NativeKeys(); all > before {
		t.Fatal(all, "expanded keys, before", before)
	}
	// Nor when a second value of a key gives up its own expansion.
	value := parse(private)
	running = func() *expandedKey { value.Prepare(); return value.native.Load().acquire() }()
	for _, key := range []*PublicKey{parse(private), value} {
		if !key.Verify(nil, nil, signature) {
			t.Fatal("a valid signature")
		}
	}
	if value.native.Load().current.Load() == running || running.references.Load() != 1 {
		t.Fatal("a value with an expansion of its own")
	}
	running.drop()
}

// A cached key that its user releases is expanded again, through whichever of its values.
func TestACachedKeyThatWasReleased(t *testing.T) {
	before := NativeKeys()
	keys := NewKeys(1)
	private, other := seeded(t, MLDSA44, 5), seeded(t, MLDSA44, 6)
	signature := signed(t, private, nil, nil)
	parse := func(private *PrivateKey) *PublicKey {
		key, err := keys.Parse(MLDSA44, private.PublicKey().Bytes())
		if err != nil {
			t.Fatal(err)
		}
		return key
	}
	verify := func(key *PublicKey) {
		t.Helper()
		if !key.Verify(nil, nil, signature) {
			t.Fatal("a valid signature")
		}
	}
	first, second := parse(private), parse(private)
	verify(first)
	verify(second)
	for _, key := range []*PublicKey{first, second, first, second} {
		checkExpanded(t, before, 1, first, second)
		key.Release()
		checkExpanded(t, before, 0, first, second)
		verify(key)
	}
	// Not after it left the cache.
	second.Release()
	if !parse(other).Verify(nil, nil, signed(t, other, nil, nil)) {
		t.Fatal("a valid signature")
	}
	for range 3 {
		verify(first)
		verify(second)
	}
	checkExpanded(t, before, 0, first, second)
	if parse(private) == first || keys.Len() != 1 {
		t.Fatal("a key that left")
	}
}

// A value that was prepared gives up its expansion for that of the cached value.
func TestAPreparedValueOfACachedKey(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	before := NativeKeys()
	keys := NewKeys(4)
	private := seeded(t, MLDSA44, 8)
	signature := signed(t, private, nil, nil)
	var values []*PublicKey
	var natives []*held
	for range 2 {
		key, err := keys.Parse(MLDSA44, private.PublicKey().Bytes())
		if err != nil {
			t.Fatal(err)
		}
		key.Prepare()
		values, natives = append(values, key), append(natives, key.native.Load())
	}
	checkExpanded(t, before, 2, values...)
	for _, key := range values {
		if !key.Verify(nil, nil, signature) {
			t.Fatal("a valid signature")
		}
	}
	checkExpanded(t, before, 1, values...)
	if natives[1].current.Load() != nil {
		t.Fatal("an expansion that nobody can release")
	}
}

// Votes that exceed the memory of one call, together or alone, have the verdicts of their signatures.
func TestMoreVotesThanOneCallTakes(t *testing.T) {
	defer func(most uint64) { maxVotesData = most }(maxVotesData)
	maxVotesData = 64 << 10
	context := []byte("chain")
	var list []Member
	var votes, quorum []Vote
	var want []bool
	shared := bytes.Repeat([]byte{7}, 10<<10)
	for n := range 40 {
		private := seeded(t, MLDSA44, n)
		list = append(list, Member{private.PublicKey(), 1})
		// Every tenth vote exceeds the limit, the others fill it together.
		message := bytes.Repeat([]byte{byte(n)}, 10<<10+n%10/9*(60<<10))
		signature := signed(t, private, message, context)
		signature[0] ^= byte(n % 7 / 6)
		votes, want = append(votes, Vote{uint32(n), message, signature}), append(want, n%7 != 6)
		quorum = append(quorum, Vote{uint32(n), nil, signed(t, private, shared, context)})
	}
	votes, want = append(votes, Vote{40, nil, nil}), append(want, false)
	committee, err := NewCommittee(CommitteeOptions{Set: MLDSA44, Context: context, Epoch: 1}, list)
	if err != nil {
		t.Fatal(err)
	}
	if all, verdicts := committee.VerifyBatch(votes); all || !slices.Equal(verdicts, want) {
		t.Fatal(verdicts)
	}
	defer func(most uint64) { maxBatchData = most }(maxBatchData)
	for _, rule := range []QuorumRule{Certificate, AnyValid} {
		maxBatchData = 40*uint64(MLDSA44.SignatureSize()) - 1
		if _, err := committee.VerifyQuorum(rule, shared, quorum); err != ErrTooLarge {
			t.Fatal(rule, err)
		}
		maxBatchData++
		if _, err := committee.VerifyQuorum(rule, shared, quorum); err != nil {
			t.Fatal(rule, err)
		}
	}
	for _, most := range []uint64{64 << 10, 16 << 10, 4 << 10, 1} {
		maxVotesData = most
		for _, rule := range []QuorumRule{Certificate, CertificateWithDuplicates, AnyValid} {
			if weight, err := committee.VerifyQuorum(rule, shared, quorum); err != nil || weight < 27 {
				t.Fatal(most, rule, weight, err)
			}
		}
	}
}

// Two values of one key that were parsed before the first signature share one expansion.
func TestTwoValuesOfAKey(t *testing.T) {
	before := NativeKeys()
	keys := NewKeys(4)
	private := seeded(t, MLDSA44, 77)
	signature := signed(t, private, nil, nil)
	var values []*PublicKey
	for range 3 {
		key, _ := keys.Parse(MLDSA44, private.PublicKey().Bytes())
		values = append(values, key)
	}
	for round := range 3 {
		for n, key := range values {
			if !key.Verify(nil, nil, signature) {
				t.Fatal(round, n)
			}
		}
	}
	checkExpanded(t, before, 1, values...)
	if keys.Len() != 1 {
		t.Fatal(keys.Len(), "cached keys")
	}
}
