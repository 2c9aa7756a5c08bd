package mldsa

import (
	"bytes"
	"encoding"
	"encoding/asn1"
	"encoding/pem"
	"errors"
	"testing"
)

var _ encoding.TextMarshaler = (*PublicKey)(nil)

func TestEncodingsOfPublicKeys(t *testing.T) {
	for _, set := range allSets {
		key := seeded(t, set, 1).PublicKey()
		der, err := key.MarshalSPKI()
		if err != nil || len(der) != set.PublicKeySize()+22 {
			t.Fatal(set, len(der), err)
		}
		text, err := key.MarshalText()
		if err != nil {
			t.Fatal(set, err)
		}
		for _, data := range [][]byte{der, text} {
			parsed, err := ParseSPKI(data)
			if err != nil || !parsed.Equal(key) {
				t.Fatal(set, err)
			}
		}
		for _, data := range [][]byte{
			nil, der[:len(der)-1], append(bytes.Clone(der), 0), text[:len(text)-9], text[1:],
			append([]byte("-----BEGIN X-----\n"), text...),
			pem.EncodeToMemory(&pem.Block{Type: privateKeyLabel, Bytes: der}),
			bytes.Replace(der, []byte{3, 4, 3}, []byte{3, 4, 2}, 1),
		} {
			if _, err := ParseSPKI(data); !errors.Is(err, ErrEncoding) {
				t.Fatalf("%v %x %v", set, data[:min(len(data), 40)], err)
			}
		}
	}
}

func TestEncodingsOfPrivateKeys(t *testing.T) {
	for _, set := range allSets {
		key := seeded(t, set, 1)
		signature := signed(t, key, []byte("m"), nil)
		for form, size := range map[PKCS8Form]int{
			PKCS8Seed: 54, PKCS8Expanded: set.ExpandedKeySize() + 28, PKCS8Both: set.ExpandedKeySize() + 66,
		} {
			der, err := key.MarshalPKCS8(form)
			if err != nil || len(der) != size {
				t.Fatal(set, form, len(der), err)
			}
			text := pem.EncodeToMemory(&pem.Block{Type: privateKeyLabel, Bytes: der})
			for _, data := range [][]byte{der, text} {
				parsed, err := ParsePKCS8(data)
				if err != nil || !parsed.Equal(key) || !bytes.Equal(signed(t, parsed, []byte("m"), nil), signature) {
					t.Fatal(set, form, err)
				}
			}
			for at := range der[:22] {
				bad := bytes.Clone(der)
				bad[at] ^= 0x40
				if _, err := ParsePKCS8(bad); !errors.Is(err, ErrEncoding) {
					t.Fatal(set, form, at, err)
				}
			}
			if _, err := ParsePKCS8(append(der, 0)); !errors.Is(err, ErrEncoding) {
				t.Fatal(set, form, err)
			}
		}
		if _, err := key.MarshalPKCS8(3); err != ErrOptions {
			t.Fatal(set, err)
		}
	}
}

// TestPartsOfPrivateKeys has structures that MarshalPKCS8 does not make.
func TestPartsOfPrivateKeys(t *testing.T) {
	key, other := seeded(t, MLDSA44, 1), seeded(t, MLDSA44, 2)
	seed, _ := key.Seed()
	expanded, _ := key.Expanded()
	wrong, _ := other.Expanded()
	broken := bytes.Clone(expanded)
	broken[64] ^= 1
	octets := func(content any) []byte {
		der, err := asn1.Marshal(content)
		if err != nil {
			t.Fatal(err)
		}
		return der
	}
	tagged := append([]byte{0x80, 32}, seed...)
	attributes := asn1.RawValue{FullBytes: []byte{0xa0, 0}}
	public := func(k *PrivateKey) asn1.BitString {
		return asn1.BitString{Bytes: k.PublicKey().Bytes(), BitLength: 8 * MLDSA44.PublicKeySize()}
	}
	algorithm := MLDSA44.algorithm()
	null := algorithm
	null.Parameters = asn1.NullRawValue
	for n, test := range []struct {
		info  privateKeyInfo
		valid bool
	}{
		{privateKeyInfo{Algorithm: algorithm, PrivateKey: tagged}, true},
		{privateKeyInfo{Algorithm: algorithm, PrivateKey: tagged, Attributes: attributes}, true},
		{privateKeyInfo{Version: 1, Algorithm: algorithm, PrivateKey: tagged, PublicKey: public(key)}, true},
		{privateKeyInfo{Version: 1, Algorithm: algorithm, PrivateKey: tagged, PublicKey: public(other)}, false},
		{privateKeyInfo{Version: 1, Algorithm: algorithm, PrivateKey: tagged}, false},
		{privateKeyInfo{Version: 0, Algorithm: algorithm, PrivateKey: tagged, PublicKey: public(key)}, false},
		{privateKeyInfo{Version: 2, Algorithm: algorithm, PrivateKey: tagged, PublicKey: public(key)}, false},
		{privateKeyInfo{Algorithm: null, PrivateKey: tagged}, false},
		{privateKeyInfo{Algorithm: MLDSA65.algorithm(), PrivateKey: octets(expanded)}, false},
		{privateKeyInfo{Algorithm: algorithm, PrivateKey: octets(expanded)}, true},
		{privateKeyInfo{Algorithm: algorithm, PrivateKey: octets(broken)}, false},
		{privateKeyInfo{Algorithm: algorithm, PrivateKey: octets(expanded[1:])}, false},
		{privateKeyInfo{Algorithm: algorithm, PrivateKey: octets(bothKeys{seed, expanded})}, true},
		{privateKeyInfo{Algorithm: algorithm, PrivateKey: octets(bothKeys{seed, wrong})}, false},
		{privateKeyInfo{Algorithm: algorithm, PrivateKey: octets(bothKeys{seed[1:], expanded})}, false},
		{privateKeyInfo{Algorithm: algorithm, PrivateKey: octets(bothKeys{seed, nil})}, false},
		{privateKeyInfo{Algorithm: algorithm, PrivateKey: append(octets(bothKeys{seed, expanded}), 0)}, false},
		{privateKeyInfo{Algorithm: algorithm, PrivateKey: seed}, false},
		{privateKeyInfo{Algorithm: algorithm, PrivateKey: tagged[:33]}, false},
	} {
		parsed, err := ParsePKCS8(octets(test.info))
		if (err == nil) != test.valid || test.valid && !parsed.Equal(key) || !test.valid && !errors.Is(err, ErrEncoding) {
			t.Fatal(n, err)
		}
	}
	// Bytes after the private key: attributes, public key, extensions.
	sequence := func(version byte, fields ...[]byte) []byte {
		content := [][]byte{{2, 1, version}, octets(algorithm), octets(tagged)}
		return octets(asn1.RawValue{Tag: asn1.TagSequence, IsCompound: true, Bytes: bytes.Join(append(content, fields...), nil)})
	}
	empty, extension := []byte{0xa0, 0}, []byte{0xa2, 3, 2, 1, 7}
	enclosed, err := asn1.MarshalWithParams(public(key), "tag:1")
	if err != nil {
		t.Fatal(err)
	}
	for n, test := range []struct {
		der   []byte
		valid bool
	}{
		{sequence(0), true},
		{sequence(0, empty), true},
		{sequence(1, empty, enclosed), true},
		{sequence(0, extension), true},
		{sequence(0, empty, extension, extension), true},
		{sequence(1, enclosed, extension), true},
		{sequence(1, enclosed, []byte{0xa1, 2, 5, 0}, []byte{0xa0, 2, 5, 0}), true},
		{sequence(0, []byte{0xbf, 0x64, 2, 0x30, 0}), true},
		{sequence(1, extension), false},
		{sequence(0, extension, enclosed), false},
		{sequence(0, []byte{0x80, 0}), false},
		{sequence(0, []byte{0x81, 1, 0}), false},
		{sequence(1, []byte{0x81, 1, 0}), false},
		{sequence(0, []byte{0xa1, 2, 5, 0}), false},
		{sequence(0, []byte{0x82, 2, 5, 0}), false},
		{sequence(0, []byte{0xa2, 0}), false},
		{sequence(0, []byte{0xa2, 4, 5, 0, 5, 0}), false},
		{sequence(0, []byte{0xa2, 2, 5}), false},
		{sequence(0, []byte{0xa2, 2, 0x31, 0}), true},
		{sequence(0, []byte{0xa2, 2, 0x24, 0}), false},
		{sequence(0, []byte{0xa2, 2, 0x10, 0}), false},
		{sequence(0, []byte{0xa2, 2, 7, 0}), false},
		{sequence(0, []byte{0xa2, 0x81, 2, 5, 0}), false},
		{sequence(0, []byte{5, 0}), false},
		{sequence(0, []byte{0xe2, 2, 5, 0}), false},
		{append(sequence(0, extension), 0), false},
	} {
		parsed, err := ParsePKCS8(test.der)
		if (err == nil) != test.valid || test.valid && !parsed.Equal(key) || !test.valid && !errors.Is(err, ErrEncoding) {
			t.Errorf("fields %d: %v", n, err)
		}
	}
	unknown, err := ParsePrivateKey(MLDSA44, expanded)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := unknown.MarshalPKCS8(PKCS8Seed); err != ErrNoSeed {
		t.Fatal(err)
	}
	if _, err := unknown.MarshalPKCS8(PKCS8Expanded); err != nil {
		t.Fatal(err)
	}
}
