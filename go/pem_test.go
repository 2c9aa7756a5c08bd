package mldsa

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
)

// pemCase is a row of the table that all interfaces share.
type pemCase struct {
	public       bool
	result, name string
	text         []byte
}

func pemCases(t testing.TB) []pemCase {
	t.Helper()
	table, err := os.ReadFile("../crates/mldsa-core/tests/data/pem.txt")
	if err != nil {
		t.Fatal(err)
	}
	var cases []pemCase
	for line := range strings.SplitSeq(strings.TrimSuffix(string(table), "\n"), "\n") {
		if strings.HasPrefix(line, "#") {
			continue
		}
		fields := strings.Split(line, "\t")
		if len(fields) != 4 {
			t.Fatal(line)
		}
		text, err := strconv.Unquote(`"` + strings.ReplaceAll(fields[3], `"`, `\"`) + `"`)
		if err != nil {
			t.Fatal(line, err)
		}
		cases = append(cases, pemCase{fields[0] == "public", fields[1], fields[2], []byte(text)})
	}
	return cases
}

// word is the table's word for a result.
func word(err error) string {
	var reason *PEMError
	if !errors.As(err, &reason) {
		if err == nil {
			return "key"
		}
		return "content"
	}
	switch {
	case reason.Reason == "label":
		return "label " + reason.Label
	case reason.Column > 0:
		return fmt.Sprintf("%s %d:%d", reason.Reason, reason.Line, reason.Column)
	case reason.Line > 0:
		return fmt.Sprintf("%s %d", reason.Reason, reason.Line)
	}
	return reason.Reason
}

func TestEveryTextOfTheTableHasItsResult(t *testing.T) {
	seed := make([]byte, SeedSize)
	for n := range seed {
		seed[n] = byte(n)
	}
	private, err := NewPrivateKey(MLDSA44, seed)
	if err != nil {
		t.Fatal(err)
	}
	cases := pemCases(t)
	if len(cases) < 110 {
		t.Fatal(len(cases), "cases")
	}
	for _, c := range cases {
		var err error
		if c.public {
			var key *PublicKey
			if key, err = ParseSPKI(c.text); err == nil && !key.Equal(private.PublicKey()) {
				t.Error(c.name, "another key")
			}
		} else {
			var key *PrivateKey
			if key, err = ParsePKCS8(c.text); err == nil && !key.Equal(private) {
				t.Error(c.name, "another key")
			}
		}
		if found := word(err); found != c.result {
			t.Errorf("%s: %s, not %s (%v)", c.name, found, c.result, err)
		}
		if err != nil && (!errors.Is(err, ErrEncoding) || strings.Contains(err.Error(), "%!")) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// A text that is cut, or has one other byte, gives a key or an error.
func TestDamagedTexts(t *testing.T) {
	for _, c := range pemCases(t) {
		if len(c.text) >= 300 {
			continue
		}
		for at := range c.text {
			ParsePKCS8(c.text[:at])
			for _, other := range []byte("\x00\n\r -=A:\xef\xff") {
				text := append([]byte(nil), c.text...)
				text[at] = other
				ParseSPKI(text)
			}
		}
	}
}
