//go:build !mldsa_cgo && !mldsa_purego

package mldsa

import (
	"bytes"
	"crypto/subtle"
	"crypto/x509/pkix"
	"encoding/asn1"
	"slices"
)

func parseSPKI(data []byte) (*PublicKey, error) {
	key, err := parsePublicDER(data)
	if err == nil {
		return key, nil
	}
	der, reason := decodePEM(data, publicKeyLabel)
	if reason != nil {
		return nil, explained(data, err, reason)
	}
	return parsePublicDER(der)
}

func parsePKCS8(data []byte) (*PrivateKey, error) {
	key, err := parsePrivateDER(data)
	if err == nil {
		return key, nil
	}
	der, reason := decodePEM(data, privateKeyLabel)
	if reason != nil {
		return nil, explained(data, err, reason)
	}
	defer clear(der)
	return parsePrivateDER(der)
}

// publicKeyTag is the tag of the field PublicKey of a privateKeyInfo.
const publicKeyTag = 1

// setOf returns the parameter set of an identifier, which has no parameters.
func setOf(algorithm pkix.AlgorithmIdentifier) (Set, error) {
	// The Rust library has no arcs above 39 in second place.
	if algorithm.Algorithm[1] > 39 {
		return 0, ErrStructure
	}
	for _, set := range allSets {
		if algorithm.Algorithm.Equal(set.algorithm().Algorithm) {
			if len(algorithm.Parameters.FullBytes) != 0 {
				return 0, ErrAlgorithmParameters
			}
			return set, nil
		}
	}
	return 0, ErrSet
}

// decode reads DER into value, parts of which may share memory with data. Any other encoding of the
// value is an error.
func decode[T any](data []byte, value *T) error {
	if after, err := decodeFields(data, value); err != nil || len(after) != 0 {
		return ErrStructure
	}
	return nil
}

// decodeFields reads as decode does, and returns the elements after the last field of a SEQUENCE, which
// the package asn1 ignores.
func decodeFields[T any](data []byte, value *T) ([]byte, error) {
	rest, err := asn1.Unmarshal(data, value)
	if err != nil || len(rest) != 0 {
		return nil, ErrStructure
	}
	again, err := asn1.Marshal(*value)
	defer clear(again)
	if err != nil {
		return nil, ErrStructure
	}
	var found, known asn1.RawValue
	_, foundErr := asn1.Unmarshal(data, &found)
	_, knownErr := asn1.Unmarshal(again, &known)
	after, same := bytes.CutPrefix(found.Bytes, known.Bytes)
	if foundErr != nil || knownErr != nil || !same {
		return nil, ErrStructure
	}
	return after, nil
}

// decodeInfo reads OneAsymmetricKey. Extensions after the fields of RFC 5958 are explicitly tagged
// elements, and are ignored.
func decodeInfo(data []byte, info *privateKeyInfo) error {
	after, err := decodeFields(data, info)
	if err != nil || info.Attributes.FullBytes != nil && !info.Attributes.IsCompound {
		return ErrStructure
	}
	for first := true; len(after) > 0; first = false {
		var extension, content asn1.RawValue
		if after, err = asn1.Unmarshal(after, &extension); err != nil {
			return ErrStructure
		}
		malformedKey := first && info.PublicKey.Bytes == nil && extension.Tag == publicKeyTag
		if malformedKey || extension.Class != asn1.ClassContextSpecific || !extension.IsCompound {
			return ErrStructure
		}
		rest, err := asn1.Unmarshal(extension.Bytes, &content)
		if err != nil || len(rest) != 0 || content.Class == asn1.ClassUniversal && !isUniversal(content) {
			return ErrStructure
		}
	}
	return nil
}

// primitives are the tags of the universal primitive types that the Rust library knows.
var primitives = []int{1, 2, 3, 4, 5, 6, 9, 10, 12, 13, 18, 19, 20, 21, 22, 23, 24, 26, 27, 30}

// isUniversal reports whether an element of the universal class has a known type and its form.
func isUniversal(element asn1.RawValue) bool {
	if element.IsCompound {
		return element.Tag == asn1.TagSequence || element.Tag == asn1.TagSet
	}
	return slices.Contains(primitives, element.Tag)
}

func parsePublicDER(der []byte) (*PublicKey, error) {
	var info publicKeyInfo
	if err := decode(der, &info); err != nil {
		return nil, err
	}
	set, err := setOf(info.Algorithm)
	if err != nil {
		return nil, err
	}
	if info.PublicKey.BitLength%8 != 0 {
		return nil, ErrStructure
	}
	return ParsePublicKey(set, info.PublicKey.Bytes)
}

// explained is the reason why data was rejected: that of DER if it looks like DER and not like PEM.
func explained(data []byte, der, pem error) error {
	const sequence = 0x30
	if len(data) > 0 && data[0] == sequence && !bytes.Contains(data, pemBegin) {
		return der
	}
	return pem
}

func parsePrivateDER(data []byte) (*PrivateKey, error) {
	der := bytes.Clone(data)
	defer clear(der)
	var info privateKeyInfo
	defer func() { clear(info.PrivateKey) }()
	if err := decodeInfo(der, &info); err != nil {
		return nil, err
	}
	public := info.PublicKey.Bytes != nil
	if info.Version != 0 && !public || info.Version != 1 && public {
		return nil, ErrStructure
	}
	set, err := setOf(info.Algorithm)
	if err != nil {
		return nil, err
	}
	key, err := parseChoice(set, info.PrivateKey)
	if err != nil {
		return nil, err
	}
	if public && (info.PublicKey.BitLength%8 != 0 || string(info.PublicKey.Bytes) != key.public.encoded) {
		return nil, ErrInconsistent
	}
	return key, nil
}

// parseChoice reads one of the three forms.
func parseChoice(set Set, der []byte) (*PrivateKey, error) {
	var expanded []byte
	var both bothKeys
	defer func() {
		clear(expanded)
		clear(both.Seed)
		clear(both.Expanded)
	}()
	if len(der) == 2+SeedSize && der[0] == 0x80 && der[1] == SeedSize {
		return NewPrivateKey(set, der[2:])
	}
	if decode(der, &expanded) == nil {
		return ParsePrivateKey(set, expanded)
	}
	if err := decode(der, &both); err != nil {
		return nil, err
	}
	key, err := NewPrivateKey(set, both.Seed)
	if err != nil {
		return nil, err
	}
	if len(both.Expanded) != set.ExpandedKeySize() {
		return nil, ErrKeySize
	}
	same, err := key.Expanded()
	defer clear(same)
	if err != nil || subtle.ConstantTimeCompare(same, both.Expanded) != 1 {
		return nil, ErrInconsistent
	}
	return key, nil
}
