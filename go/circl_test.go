//go:build !mldsa_cgo && !mldsa_purego

package mldsa

import "testing"

// A verification goes on with the key that it prepared, whoever releases it meanwhile.
func TestAPreparedKeyOutlivesItsRelease(t *testing.T) {
	for _, set := range allSets {
		private := seeded(t, set, 1)
		key, signature := private.PublicKey(), signed(t, private, []byte("m"), nil)
		native := key.native.Load()
		for range 2 { // The second key is parsed again.
			verify := native.prepare(key)
			native.release()
			if !verify([]byte("m"), nil, signature) || verify([]byte("n"), nil, signature) {
				t.Fatal(set)
			}
		}
	}
}

// A signature that the public key rejects, as after a fault, is not released.
func TestSelfVerificationRejects(t *testing.T) {
	for _, set := range allSets {
		key, other := seeded(t, set, 1), seeded(t, set, 2)
		key.native.(*circlSigner).verifyWith = other.PublicKey()
		if signature, err := key.Sign(nil, []byte("m"), nil); err != ErrInternal || signature != nil {
			t.Fatal(set, err)
		}
		key.SetSelfVerification(false)
		if _, err := key.Sign(nil, []byte("m"), nil); err != nil {
			t.Fatal(set, err)
		}
		key.SetSelfVerification(true)
		if _, err := key.Sign(nil, []byte("m"), nil); err != nil {
			t.Fatal(set, err)
		}
	}
}
