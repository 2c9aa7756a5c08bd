package mldsa

import (
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"
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

// keyFileError is the reason why a key file was rejected. It is an ErrEncoding too.
type keyFileError struct{ error }

func (keyFileError) Is(target error) bool { return target == ErrEncoding }
func (e keyFileError) Unwrap() error      { return e.error }

// ofKeyFile makes a reason an ErrEncoding.
func ofKeyFile(reason error) error {
	if reason == nil || errors.Is(reason, ErrEncoding) {
		return reason
	}
	return keyFileError{reason}
}

// ParseSPKI makes a public key from SubjectPublicKeyInfo (RFC 9881), in DER or in PEM (the lax grammar of
// RFC 7468, one object). The parameter set is in it. Errors are an ErrEncoding and ErrStructure, ErrSet,
// ErrAlgorithmParameters, ErrKeySize or a *PEMError.
func ParseSPKI(data []byte) (*PublicKey, error) {
	key, err := parseSPKI(data)
	return key, ofKeyFile(err)
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
// The parameter set is in it. Every part is checked, an enclosed public key too. Errors are those of
// ParseSPKI and ParsePrivateKey, ErrVersion, ErrAttributes and ErrForm.
func ParsePKCS8(data []byte) (*PrivateKey, error) {
	key, err := parsePKCS8(data)
	return key, ofKeyFile(err)
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

// PEMError is the reason why a PEM text was rejected. It is an ErrEncoding. Lines and columns count
// from 1, columns in bytes; 0 where there is none. Nothing of the key is in it.
type PEMError struct {
	// Reason is missing, several, boundary, label, end, end-label, headers, base64 or padding.
	Reason       string
	Line, Column int
	// Label is the label that was found instead of the wanted one, at most 64 characters of it.
	Label string
}

// Error returns a sentence.
func (e *PEMError) Error() string {
	text := "no reason"
	if e != nil {
		text = map[string]string{
			"missing":   "PEM without a line -----BEGIN LABEL-----",
			"several":   "PEM with more than one object: another begins in line %d",
			"boundary":  "PEM with a malformed boundary in line %d",
			"label":     "PEM of " + strings.ReplaceAll(e.Label, "%", "%%"),
			"end":       "PEM without its END line",
			"end-label": "PEM with another label at its END in line %d",
			"headers":   "PEM with headers",
			"base64":    "PEM with a bad base64 character in line %d, column %d",
			"padding":   "PEM whose base64 ends early or is not canonical",
		}[e.Reason]
		var places []any
		for _, place := range []int{e.Line, e.Column} {
			if place > 0 {
				places = append(places, place)
			}
		}
		text = fmt.Sprintf(text, places...)
	}
	return "mldsa: " + text
}

// Is reports whether target is ErrEncoding.
func (e *PEMError) Is(target error) bool { return target == ErrEncoding }
