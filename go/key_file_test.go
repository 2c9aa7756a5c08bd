package mldsa

import (
	"bytes"
	"crypto/sha256"
	"encoding/asn1"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
)

// mutated returns DER or PEM with a few changes: mostly in the first bytes, which are the structure.
func mutated(r *rand.Rand, data []byte) []byte {
	data = bytes.Clone(data)
	for range 1 + r.IntN(2) {
		at := r.IntN(min(len(data), 96))
		if r.IntN(6) == 0 {
			at = r.IntN(len(data))
		}
		switch r.IntN(6) {
		case 0:
			data[at] ^= 1 << r.IntN(8)
		case 1:
			data[at] = byte(r.Uint32())
		case 2:
			data[at]++
		case 3:
			data = append(data[:at], data[at+1:]...)
		case 4:
			data = append(data[:at], append([]byte{byte(r.IntN(256))}, data[at:]...)...)
		case 5:
			data = data[:len(data)-r.IntN(min(len(data), 4))]
		}
		if len(data) == 0 {
			return data
		}
	}
	return data
}

// reasonOf is the result of a private or of a public key.
func reasonOf(key, original *PrivateKey, err error) string {
	var text *PEMError
	switch {
	case errors.As(err, &text):
		return fmt.Sprint(*text)
	case err == nil && key != nil:
		// CIRCL does not check t0, so that it takes some expanded keys that were changed.
		if _, unknown := key.Seed(); unknown != nil && !key.Equal(original) {
			return fmt.Sprint(ErrInconsistent)
		}
	}
	return fmt.Sprint(err)
}

// Each implementation gives changed key files the same results, whose digest is here.
func TestChangedKeyFiles(t *testing.T) {
	const want = "d44ed5876a07bdd422c3a7c4ff088fde7f853c53958496c8959829128455c2df"
	r := rand.New(rand.NewPCG(4, 4))
	key := seeded(t, MLDSA44, 9)
	var files [][]byte
	for _, form := range []PKCS8Form{PKCS8Seed, PKCS8Expanded, PKCS8Both} {
		der, _ := key.MarshalPKCS8(form)
		files = append(files, der, pem.EncodeToMemory(&pem.Block{Type: privateKeyLabel, Bytes: der}))
	}
	spki, _ := key.PublicKey().MarshalSPKI()
	text, _ := key.PublicKey().MarshalText()
	attributes := asn1.RawValue{FullBytes: []byte{0xa0, 13, 0x30, 11, 6, 3, 0x55, 4, 3, 0x31, 4, 0x0c, 2, 'a', 'b'}}
	seed, _ := key.Seed()
	whole, err := asn1.Marshal(privateKeyInfo{
		1, MLDSA44.algorithm(), append([]byte{0x80, SeedSize}, seed...), attributes,
		asn1.BitString{Bytes: key.PublicKey().Bytes(), BitLength: 8 * MLDSA44.PublicKeySize()},
	})
	if err != nil {
		t.Fatal(err)
	}
	files = append(files, spki, text, whole)
	results, reasons := sha256.New(), map[string]int{}
	for n := range 16_000 {
		data := mutated(r, files[n%len(files)])
		private, err := ParsePKCS8(data)
		reason := reasonOf(private, key, err)
		_, err = ParseSPKI(data)
		fmt.Fprintln(results, n, reason, reasonOf(nil, nil, err))
		reasons[reason]++
	}
	if found := hex.EncodeToString(results.Sum(nil)); found != want {
		t.Fatal(found, reasons)
	}
}
