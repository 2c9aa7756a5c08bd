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

// The reasons to reject a file of a public key.
func TestPartsOfPublicKeys(t *testing.T) {
	key := seeded(t, MLDSA44, 1).PublicKey()
	bits := asn1.BitString{Bytes: key.Bytes(), BitLength: 8 * MLDSA44.PublicKeySize()}
	other := MLDSA44.algorithm()
	other.Algorithm = asn1.ObjectIdentifier{1, 3, 101, 112}
	null := MLDSA44.algorithm()
	null.Parameters = asn1.NullRawValue
	unused := bits
	unused.BitLength--
	unused.Bytes = append(bytes.Clone(key.Bytes()[:len(key.Bytes())-1]), 0)
	for n, test := range []struct {
		info   publicKeyInfo
		reason error
	}{
		{publicKeyInfo{MLDSA44.algorithm(), bits}, nil},
		{publicKeyInfo{other, bits}, ErrSet},
		{publicKeyInfo{null, bits}, ErrAlgorithmParameters},
		{publicKeyInfo{MLDSA65.algorithm(), bits}, ErrKeySize},
		{publicKeyInfo{MLDSA87.algorithm(), bits}, ErrKeySize},
		{publicKeyInfo{MLDSA44.algorithm(), unused}, ErrStructure},
		{publicKeyInfo{MLDSA44.algorithm(), asn1.BitString{}}, ErrKeySize},
	} {
		der, err := asn1.Marshal(test.info)
		if err != nil {
			t.Fatal(err)
		}
		for _, data := range [][]byte{der, pem.EncodeToMemory(&pem.Block{Type: publicKeyLabel, Bytes: der})} {
			parsed, err := ParseSPKI(data)
			if !errors.Is(err, test.reason) || err == nil && !parsed.Equal(key) || err != nil && !errors.Is(err, ErrEncoding) {
				t.Error(n, err)
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
		info   privateKeyInfo
		reason error
	}{
		{privateKeyInfo{Algorithm: algorithm, PrivateKey: tagged}, nil},
		{privateKeyInfo{Algorithm: algorithm, PrivateKey: tagged, Attributes: attributes}, nil},
		{privateKeyInfo{Version: 1, Algorithm: algorithm, PrivateKey: tagged, PublicKey: public(key)}, nil},
		{privateKeyInfo{Version: 1, Algorithm: algorithm, PrivateKey: tagged, PublicKey: public(other)}, ErrInconsistent},
		{privateKeyInfo{Version: 1, Algorithm: algorithm, PrivateKey: tagged}, ErrVersion},
		{privateKeyInfo{Version: 0, Algorithm: algorithm, PrivateKey: tagged, PublicKey: public(key)}, ErrVersion},
		{privateKeyInfo{Version: 2, Algorithm: algorithm, PrivateKey: tagged, PublicKey: public(key)}, ErrStructure},
		{privateKeyInfo{Algorithm: null, PrivateKey: tagged}, ErrAlgorithmParameters},
		{privateKeyInfo{Algorithm: MLDSA65.algorithm(), PrivateKey: octets(expanded)}, ErrKeySize},
		{privateKeyInfo{Algorithm: algorithm, PrivateKey: octets(expanded)}, nil},
		{privateKeyInfo{Algorithm: algorithm, PrivateKey: octets(broken)}, ErrInconsistent},
		{privateKeyInfo{Algorithm: algorithm, PrivateKey: octets(expanded[1:])}, ErrKeySize},
		{privateKeyInfo{Algorithm: algorithm, PrivateKey: octets(bothKeys{seed, expanded})}, nil},
		{privateKeyInfo{Algorithm: algorithm, PrivateKey: octets(bothKeys{seed, wrong})}, ErrInconsistent},
		{privateKeyInfo{Algorithm: algorithm, PrivateKey: octets(bothKeys{seed[1:], expanded})}, ErrKeySize},
		{privateKeyInfo{Algorithm: algorithm, PrivateKey: octets(bothKeys{seed, nil})}, ErrKeySize},
		{privateKeyInfo{Algorithm: algorithm, PrivateKey: append(octets(bothKeys{seed, expanded}), 0)}, ErrForm},
		{privateKeyInfo{Algorithm: algorithm, PrivateKey: seed}, ErrForm},
		{privateKeyInfo{Algorithm: algorithm, PrivateKey: tagged[:33]}, ErrForm},
	} {
		parsed, err := ParsePKCS8(octets(test.info))
		if !errors.Is(err, test.reason) || err == nil && !parsed.Equal(key) || err != nil && !errors.Is(err, ErrEncoding) {
			t.Error(n, err)
		}
	}
	// Bytes after the private key: attributes, public key, and what is neither.
	sequence := func(version byte, fields ...[]byte) []byte {
		content := [][]byte{{2, 1, version}, octets(algorithm), octets(tagged)}
		return octets(asn1.RawValue{Tag: asn1.TagSequence, IsCompound: true, Bytes: bytes.Join(append(content, fields...), nil)})
	}
	empty, extension := []byte{0xa0, 0}, []byte{0xa2, 3, 2, 1, 7}
	attribute := []byte{0x30, 11, 6, 3, 0x55, 4, 3, 0x31, 4, 0x0c, 2, 'a', 'b'}
	later := bytes.Replace(attribute, []byte{'b'}, []byte{'c'}, 1)
	set := func(attributes ...[]byte) []byte {
		content := bytes.Join(attributes, nil)
		return append([]byte{0xa0, byte(len(content))}, content...)
	}
	enclosed, err := asn1.MarshalWithParams(public(key), "tag:1")
	if err != nil {
		t.Fatal(err)
	}
	for n, test := range []struct {
		der    []byte
		reason error
	}{
		{sequence(0), nil},
		{sequence(0, empty), nil},
		{sequence(1, empty, enclosed), nil},
		{sequence(0, extension), ErrStructure},
		{sequence(0, empty, extension, extension), ErrStructure},
		{sequence(1, enclosed, extension), ErrStructure},
		{sequence(1, enclosed, []byte{0xa1, 2, 5, 0}, []byte{0xa0, 2, 5, 0}), ErrStructure},
		{sequence(0, []byte{0xbf, 0x64, 2, 0x30, 0}), ErrStructure},
		{sequence(1, extension), ErrStructure},
		{sequence(0, extension, enclosed), ErrStructure},
		{sequence(0, []byte{0x80, 0}), ErrStructure},
		{sequence(0, []byte{0x81, 1, 0}), ErrVersion},
		{sequence(1, []byte{0x81, 1, 0}), ErrInconsistent},
		{sequence(0, []byte{0xa1, 2, 5, 0}), ErrStructure},
		{sequence(0, []byte{0x82, 2, 5, 0}), ErrStructure},
		{sequence(0, []byte{0xa2, 0}), ErrStructure},
		{sequence(0, []byte{0xa2, 4, 5, 0, 5, 0}), ErrStructure},
		{sequence(0, []byte{0xa2, 2, 5}), ErrStructure},
		{sequence(0, []byte{0xa2, 2, 0x31, 0}), ErrStructure},
		{sequence(0, []byte{0xa2, 2, 0x24, 0}), ErrStructure},
		{sequence(0, []byte{0xa2, 2, 0x10, 0}), ErrStructure},
		{sequence(0, []byte{0xa2, 2, 7, 0}), ErrStructure},
		{sequence(0, []byte{0xa2, 0x81, 2, 5, 0}), ErrStructure},
		{sequence(0, []byte{5, 0}), ErrStructure},
		{sequence(0, []byte{0xe2, 2, 5, 0}), ErrStructure},
		{append(sequence(0, extension), 0), ErrStructure},
		{sequence(0, set(attribute)), nil},
		{sequence(1, set(attribute), enclosed), nil},
		{sequence(0, set(attribute, later)), nil},
		{sequence(0, set(later, attribute)), ErrAttributes},
		{sequence(0, set(attribute, attribute)), ErrAttributes},
		{sequence(0, set(attribute, []byte{0})), ErrAttributes},
		{sequence(0, set([]byte{5, 0})), ErrAttributes},
		{sequence(0, set(bytes.Replace(attribute, []byte{0x31, 4}, []byte{0x30, 4}, 1))), ErrAttributes},
		{sequence(0, set(bytes.Replace(attribute, []byte{0x0c, 2}, []byte{0x0c, 3}, 1))), ErrAttributes},
		{sequence(1, set([]byte{5, 0})), ErrVersion},
		{sequence(1, enclosed, set(attribute)), ErrStructure},
		{sequence(0, set(attribute), set(attribute)), ErrStructure},
	} {
		parsed, err := ParsePKCS8(test.der)
		if !errors.Is(err, test.reason) || err == nil && !parsed.Equal(key) || err != nil && !errors.Is(err, ErrEncoding) {
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
