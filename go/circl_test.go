//go:build !mldsa_cgo && !mldsa_purego

package mldsa

import "testing"

// A signature that the public key rejects, as after a fault, is not released.
func TestSelfVerificationRejects(t *testing.T) {
	for _, set := range sets {
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
