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
	rest, err := asn1.Unmarshal(data, value)
	if err != nil || len(rest) != 0 {
		return ErrStructure
	}
	again, err := asn1.Marshal(*value)
	defer clear(again)
	if err != nil || !bytes.Equal(again, data) {
		return ErrStructure
	}
	return nil
}

// optional takes the element with a tag of the context from the front of data, if it is there.
func optional(data []byte, tag int, compound bool) (content []byte, found bool, rest []byte) {
	var element asn1.RawValue
	rest, err := asn1.Unmarshal(data, &element)
	if err != nil || element.Class != asn1.ClassContextSpecific || element.Tag != tag || element.IsCompound != compound {
		return nil, false, data
	}
	return element.Bytes, true, rest
}

// checkAttributes checks the content of a SET OF Attribute: each is a type and a SET of values, and they
// are in the order of DER.
func checkAttributes(content []byte) error {
	var previous []byte
	for len(content) > 0 {
		var attribute struct {
			Type   asn1.ObjectIdentifier
			Values asn1.RawValue
		}
		rest, err := asn1.Unmarshal(content, &attribute)
		if err != nil {
			return ErrAttributes
		}
		whole := content[:len(content)-len(rest)]
		values := attribute.Values
		set := isUniversal(values) && values.Tag == asn1.TagSet
		if decode(whole, &attribute) != nil || attribute.Type[1] > 39 || !set || bytes.Compare(whole, previous) <= 0 {
			return ErrAttributes
		}
		for rest := values.Bytes; len(rest) > 0; {
			var value asn1.RawValue
			if rest, err = asn1.Unmarshal(rest, &value); err != nil || value.Class == asn1.ClassUniversal && !isUniversal(value) {
				return ErrAttributes
			}
		}
		content, previous = rest, whole
	}
	return nil
}

// primitives are the tags of the universal primitive types that the Rust library knows.
var primitives = []int{1, 2, 3, 4, 5, 6, 9, 10, 12, 13, 18, 19, 20, 21, 22, 23, 24, 26, 27, 30}

// isUniversal reports whether an element is of the universal class and has a known type and its form.
func isUniversal(element asn1.RawValue) bool {
	if element.Class != asn1.ClassUniversal {
		return false
	}
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

// parsePrivateDER reads OneAsymmetricKey of RFC 5958, all of it.
func parsePrivateDER(data []byte) (*PrivateKey, error) {
	der := bytes.Clone(data)
	defer clear(der)
	var sequence asn1.RawValue
	if decode(der, &sequence) != nil || !isUniversal(sequence) || sequence.Tag != asn1.TagSequence {
		return nil, ErrStructure
	}
	var info privateKeyInfo
	defer func() { clear(info.PrivateKey) }()
	fields := sequence.Bytes
	for _, read := range []func([]byte) ([]byte, error){field(&info.Version), field(&info.Algorithm), field(&info.PrivateKey)} {
		var err error
		if fields, err = read(fields); err != nil {
			return nil, err
		}
	}
	attributes, _, fields := optional(fields, 0, true)
	public, enclosed, fields := optional(fields, 1, false)
	if len(fields) != 0 || info.Version != 0 && info.Version != 1 {
		return nil, ErrStructure
	}
	if (info.Version == 1) != enclosed {
		return nil, ErrVersion
	}
	if err := checkAttributes(attributes); err != nil {
		return nil, err
	}
	set, err := setOf(info.Algorithm)
	if err != nil {
		return nil, err
	}
	// The first byte is the number of unused bits.
	if enclosed && (len(public) == 0 || public[0] > 7 || len(public) == 1 && public[0] != 0) {
		return nil, ErrStructure
	}
	key, err := parseChoice(set, info.PrivateKey)
	if err != nil {
		return nil, err
	}
	if enclosed && (public[0] != 0 || string(public[1:]) != key.public.encoded) {
		return nil, ErrInconsistent
	}
	return key, nil
}

// field returns a function that reads the first element of a list into value.
func field[T any](value *T) func([]byte) ([]byte, error) {
	return func(data []byte) ([]byte, error) {
		var element asn1.RawValue
		rest, err := asn1.Unmarshal(data, &element)
		if err != nil {
			return nil, ErrStructure
		}
		return rest, decode(data[:len(data)-len(rest)], value)
	}
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
	if decode(der, &both) != nil {
		return nil, ErrForm
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
