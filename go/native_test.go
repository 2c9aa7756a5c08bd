//go:build mldsa_cgo || mldsa_purego

package mldsa

import (
	"runtime/debug"
	"testing"
)

// checkExpanded checks that exactly want of the keys are expanded, and that NativeKeys counts them.
// Until then there were before; the collector may free those of other tests at any time.
func checkExpanded(t *testing.T, before, want int, keys ...*PublicKey) {
	t.Helper()
	expanded := map[*held]bool{}
	for _, key := range keys {
		if native := key.native.Load(); native.expanded != nil {
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
