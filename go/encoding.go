package mldsa

import (
	"bytes"
	"crypto/subtle"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/pem"
	"slices"
)

// PKCS8Form is a form of private keys in RFC 9881.
type PKCS8Form int

// The forms of private keys.
const (
	// PKCS8Seed has the seed alone: 54 bytes.
	PKCS8Seed PKCS8Form = iota
	// PKCS8Expanded has the expanded key alone.
	PKCS8Expanded
	// PKCS8Both has the seed and the expanded key.
	PKCS8Both
)

// Labels of PEM.
const (
	privateKeyLabel = "PRIVATE KEY"
	publicKeyLabel  = "PUBLIC KEY"
)

// publicKeyInfo is SubjectPublicKeyInfo.
type publicKeyInfo struct {
	Algorithm pkix.AlgorithmIdentifier
	PublicKey asn1.BitString
}

// publicKeyTag is the tag of the field PublicKey of a privateKeyInfo.
const publicKeyTag = 1

// privateKeyInfo is OneAsymmetricKey of RFC 5958 without extensions.
type privateKeyInfo struct {
	Version    int
	Algorithm  pkix.AlgorithmIdentifier
	PrivateKey []byte
	Attributes asn1.RawValue  `asn1:"optional,tag:0"`
	PublicKey  asn1.BitString `asn1:"optional,tag:1"`
}

// bothKeys is the content of a private key with seed and expanded key.
type bothKeys struct{ Seed, Expanded []byte }

// The object identifiers are id-ml-dsa-44, 65 and 87.
func (s Set) algorithm() pkix.AlgorithmIdentifier {
	last := map[Set]int{MLDSA44: 17, MLDSA65: 18, MLDSA87: 19}[s]
	return pkix.AlgorithmIdentifier{Algorithm: asn1.ObjectIdentifier{2, 16, 840, 1, 101, 3, 4, 3, last}}
}

// setOf returns the parameter set of an identifier without parameters.
func setOf(algorithm pkix.AlgorithmIdentifier) (Set, error) {
	for _, set := range allSets {
		if algorithm.Algorithm.Equal(set.algorithm().Algorithm) && len(algorithm.Parameters.FullBytes) == 0 {
			return set, nil
		}
	}
	return 0, ErrEncoding
}

// decode reads DER into value, parts of which may share memory with data. Any other encoding of the
// value is an error.
func decode[T any](data []byte, value *T) error {
	if after, err := decodeFields(data, value); err != nil || len(after) != 0 {
		return ErrEncoding
	}
	return nil
}

// decodeFields reads as decode does, and returns the elements after the last field of a SEQUENCE, which
// the package asn1 ignores.
func decodeFields[T any](data []byte, value *T) ([]byte, error) {
	rest, err := asn1.Unmarshal(data, value)
	if err != nil || len(rest) != 0 {
		return nil, ErrEncoding
	}
	again, err := asn1.Marshal(*value)
	defer clear(again)
	if err != nil {
		return nil, ErrEncoding
	}
	var found, known asn1.RawValue
	_, foundErr := asn1.Unmarshal(data, &found)
	_, knownErr := asn1.Unmarshal(again, &known)
	after, same := bytes.CutPrefix(found.Bytes, known.Bytes)
	if foundErr != nil || knownErr != nil || !same {
		return nil, ErrEncoding
	}
	return after, nil
}

// decodeInfo reads OneAsymmetricKey. Extensions after the fields of RFC 5958 are explicitly tagged
// elements, and are ignored.
func decodeInfo(data []byte, info *privateKeyInfo) error {
	after, err := decodeFields(data, info)
	if err != nil || info.Attributes.FullBytes != nil && !info.Attributes.IsCompound {
		return ErrEncoding
	}
	for first := true; len(after) > 0; first = false {
		var extension, content asn1.RawValue
		if after, err = asn1.Unmarshal(after, &extension); err != nil {
			return ErrEncoding
		}
		malformedKey := first && info.PublicKey.Bytes == nil && extension.Tag == publicKeyTag
		if malformedKey || extension.Class != asn1.ClassContextSpecific || !extension.IsCompound {
			return ErrEncoding
		}
		rest, err := asn1.Unmarshal(extension.Bytes, &content)
		if err != nil || len(rest) != 0 || content.Class == asn1.ClassUniversal && !isUniversal(content) {
			return ErrEncoding
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

// ParseSPKI makes a public key from SubjectPublicKeyInfo (RFC 9881), in DER or in PEM. The parameter
// set is in it.
func ParseSPKI(data []byte) (*PublicKey, error) {
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

func parsePublicDER(der []byte) (*PublicKey, error) {
	var info publicKeyInfo
	if err := decode(der, &info); err != nil {
		return nil, err
	}
	set, err := setOf(info.Algorithm)
	if err != nil || info.PublicKey.BitLength%8 != 0 || len(info.PublicKey.Bytes) != set.PublicKeySize() {
		return nil, ErrEncoding
	}
	return ParsePublicKey(set, info.PublicKey.Bytes)
}

// MarshalSPKI returns SubjectPublicKeyInfo in DER: 1334, 1974 or 2614 bytes.
func (k *PublicKey) MarshalSPKI() ([]byte, error) {
	if k.Set() == 0 {
		return nil, ErrKey
	}
	key := asn1.BitString{Bytes: []byte(k.encoded), BitLength: 8 * len(k.encoded)}
	return asn1.Marshal(publicKeyInfo{k.set.algorithm(), key})
}

// MarshalText returns SubjectPublicKeyInfo in PEM. It implements encoding.TextMarshaler.
func (k *PublicKey) MarshalText() ([]byte, error) {
	der, err := k.MarshalSPKI()
	if err != nil {
		return nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: publicKeyLabel, Bytes: der}), nil
}

// UnmarshalText makes a key of the zero value from SubjectPublicKeyInfo, as ParseSPKI. Another value is
// ErrInUse. It implements encoding.TextUnmarshaler.
func (k *PublicKey) UnmarshalText(text []byte) error { return k.read(ParseSPKI(text)) }

// ParsePKCS8 makes a private key from PKCS#8 (RFC 9881: seed, expanded key or both), in DER or in PEM.
// The parameter set is in it. Every part is checked, an enclosed public key too.
func ParsePKCS8(data []byte) (*PrivateKey, error) {
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
	set, err := setOf(info.Algorithm)
	public := info.PublicKey.Bytes != nil
	if err != nil || info.Version != 0 && !public || info.Version != 1 && public {
		return nil, ErrEncoding
	}
	key, err := parseChoice(set, info.PrivateKey)
	if err != nil {
		return nil, ErrEncoding
	}
	if public && (info.PublicKey.BitLength%8 != 0 || string(info.PublicKey.Bytes) != key.public.encoded) {
		return nil, ErrEncoding
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
	same, err := key.Expanded()
	defer clear(same)
	if err != nil || subtle.ConstantTimeCompare(same, both.Expanded) != 1 {
		return nil, ErrKey
	}
	return key, nil
}

// MarshalPKCS8 returns PKCS#8 in DER; ErrNoSeed if the form needs a seed that is not known. The
// result is secret.
func (k *PrivateKey) MarshalPKCS8(form PKCS8Form) ([]byte, error) {
	var seed, expanded, choice []byte
	defer func() {
		clear(seed)
		clear(expanded)
		clear(choice)
	}()
	var err error
	if form != PKCS8Expanded {
		if seed, err = k.Seed(); err != nil {
			return nil, err
		}
	}
	if form != PKCS8Seed {
		if expanded, err = k.Expanded(); err != nil {
			return nil, err
		}
	}
	switch form {
	case PKCS8Seed:
		choice = append([]byte{0x80, SeedSize}, seed...)
	case PKCS8Expanded:
		choice, err = asn1.Marshal(expanded)
	case PKCS8Both:
		choice, err = asn1.Marshal(bothKeys{seed, expanded})
	default:
		err = ErrOptions
	}
	if err != nil {
		return nil, err
	}
	return asn1.Marshal(privateKeyInfo{Algorithm: k.Set().algorithm(), PrivateKey: choice})
}
