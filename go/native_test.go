//go:build mldsa_cgo || mldsa_purego

package mldsa

import (
	"fmt"
	"runtime/debug"
	"testing"
)

// Expanded keys that leave a cache are freed without the garbage collector, which is off here.
func TestACacheBoundsTheMemoryOfTheLibrary(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	const size, count = 64, 400
	before := NativeKeys()
	keys := NewKeys(size)
	var first *PublicKey
	for n := range count {
		private := seeded(t, MLDSA44, n)
		encoded, signature := private.PublicKey().Bytes(), signed(t, private, nil, nil)
		// The second value of a key shares the expansion of the first.
		for range 2 {
			key, err := keys.Parse(MLDSA44, encoded)
			if err != nil || !key.Verify(nil, nil, signature) {
				t.Fatal(n, err)
			}
			if n == 0 {
				first = key
			}
		}
		if held, want := NativeKeys()-before, min(n+1, size); held != want {
			t.Fatalf("%d expanded keys after %d keys, not %d", held, n+1, want)
		}
	}
	// A key that left is usable, and a use does not bring it back.
	private := seeded(t, MLDSA44, 0)
	for range 3 {
		if !first.Verify(nil, nil, signed(t, private, nil, nil)) || first.Verify([]byte("m"), nil, signed(t, private, nil, nil)) {
			t.Fatal("a key that left the cache")
		}
	}
	if held := NativeKeys() - before; held != size {
		t.Fatal(held, "expanded keys")
	}
}

func TestReleaseFreesAnExpandedKey(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	before := NativeKeys()
	private := seeded(t, MLDSA65, 1)
	signature := signed(t, private, nil, nil)
	key := private.PublicKey()
	for range 3 {
		key.Prepare().Prepare()
		if NativeKeys() != before+1 || !key.Verify(nil, nil, signature) {
			t.Fatal("an expanded key")
		}
		key.Release()
		key.Release()
		if NativeKeys() != before || !key.Verify(nil, nil, signature) {
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
	if NativeKeys() != before+1 || keys.Len() != 1 {
		t.Fatal(fmt.Sprint(NativeKeys()-before, " expanded keys of ", keys.Len()))
	}
}
