package mldsa

import (
	"crypto/sha3"
	"errors"
)

// MuSize is the size of a message representative in bytes.
const MuSize = 64

// Mu makes the message representative of a message of any length, for Options.Mu. It implements
// io.Writer. Not safe for concurrent use.
type Mu struct {
	hash   *sha3.SHAKE
	result []byte
}

// NewMu begins the representative of a message under a public key and a context.
func NewMu(key *PublicKey, context []byte) (*Mu, error) {
	if key.Set() == 0 {
		return nil, ErrKey
	}
	if len(context) > MaxContext {
		return nil, ErrContext
	}
	m := &Mu{hash: sha3.NewSHAKE256()}
	m.hash.Write(sha3.SumSHAKE256([]byte(key.encoded), MuSize))
	m.hash.Write([]byte{0, byte(len(context))})
	m.hash.Write(context)
	return m, nil
}

// Write appends a piece of the message. It fails after Sum, and for the zero value.
func (m *Mu) Write(piece []byte) (int, error) {
	if m == nil || m.hash == nil {
		return 0, ErrKey
	}
	if m.result != nil {
		return 0, errors.New("mldsa: the message representative is complete")
	}
	return m.hash.Write(piece)
}

// Sum completes the representative and returns its 64 bytes; none for the zero value.
func (m *Mu) Sum() []byte {
	if m == nil || m.hash == nil {
		return nil
	}
	if m.result == nil {
		m.result = make([]byte, MuSize)
		m.hash.Read(m.result)
	}
	return append([]byte(nil), m.result...)
}
