package mldsa

import (
	"fmt"
	"log/slog"
)

// secret holds bytes of a private key. A function shows them to nobody who prints or encodes the
// value that holds it, by reflection either.
type secret func() []byte

func keep(bytes []byte) secret { return func() []byte { return bytes } }

// String returns the name of the type and of the parameter set: nothing of the key.
func (k PrivateKey) String() string { return fmt.Sprintf("PrivateKey(%v)", k.Set()) }

// Format writes what String returns, for every verb. It implements fmt.Formatter.
func (k PrivateKey) Format(state fmt.State, _ rune) { fmt.Fprint(state, k.String()) }

// LogValue returns what String returns. It implements slog.LogValuer.
func (k PrivateKey) LogValue() slog.Value { return slog.StringValue(k.String()) }

// MarshalText returns ErrSecret, so that no package writes a private key as a part of another value:
// Seed, Expanded and MarshalPKCS8 return one.
func (k PrivateKey) MarshalText() ([]byte, error) { return nil, ErrSecret }

// MarshalJSON returns ErrSecret, as MarshalText.
func (k PrivateKey) MarshalJSON() ([]byte, error) { return nil, ErrSecret }

// MarshalBinary returns ErrSecret, as MarshalText.
func (k PrivateKey) MarshalBinary() ([]byte, error) { return nil, ErrSecret }

// GobEncode returns ErrSecret, as MarshalText.
func (k PrivateKey) GobEncode() ([]byte, error) { return nil, ErrSecret }

// UnmarshalText returns ErrSecret: NewPrivateKey, ParsePrivateKey and ParsePKCS8 read private keys.
func (k *PrivateKey) UnmarshalText([]byte) error { return ErrSecret }

// UnmarshalJSON returns ErrSecret, as UnmarshalText.
func (k *PrivateKey) UnmarshalJSON([]byte) error { return ErrSecret }

// UnmarshalBinary returns ErrSecret, as UnmarshalText.
func (k *PrivateKey) UnmarshalBinary([]byte) error { return ErrSecret }

// GobDecode returns ErrSecret, as UnmarshalText.
func (k *PrivateKey) GobDecode([]byte) error { return ErrSecret }
