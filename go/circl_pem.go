//go:build !mldsa_cgo && !mldsa_purego

package mldsa

import (
	"bytes"
	"encoding/base64"
	"slices"
	"strings"
	"unicode/utf8"
)

var (
	pemBegin = []byte("-----BEGIN")
	pemEnd   = []byte("-----END")
	pemMark  = []byte("\xef\xbb\xbf")
)

// decodePEM returns the content of the one object of a text, which has this label, in the grammar that
// RFC 7468 calls lax. Around it may be a byte order mark and other text, in it white space of any kind.
// The package encoding/pem skips what it cannot read and takes the first object of several.
func decodePEM(text []byte, label string) ([]byte, error) {
	begin, found := nextBegin(text, startOf(text), false)
	if !found {
		return nil, &PEMError{Reason: "missing"}
	}
	name, at, ok := boundary(text, begin+len(pemBegin))
	if !ok {
		return nil, &PEMError{Reason: "boundary", Line: lineOf(text, begin)}
	}
	if name != label {
		return nil, &PEMError{Reason: "label", Label: firstCharacters(name, 64)}
	}
	first := bytes.TrimLeft(text[at:], " \t\n\f\r")
	if end := bytes.IndexAny(first, "\n\r"); end >= 0 {
		first = first[:end]
	}
	first, _, _ = bytes.Cut(first, []byte("-----"))
	if bytes.IndexByte(first, ':') >= 0 {
		return nil, &PEMError{Reason: "headers"}
	}
	end, err := objectEnd(text, at, name)
	if err != nil {
		return nil, err
	}
	return decodeBody(text, at, end)
}

// objectEnd checks the END line of an object whose body begins at an offset, and that no other object
// follows. It returns where the body ends.
func objectEnd(text []byte, at int, label string) (int, error) {
	dash := bytes.IndexByte(text[at:], '-')
	if dash < 0 {
		return 0, &PEMError{Reason: "end"}
	}
	dash += at
	rest := text[dash:]
	if bytes.HasPrefix(rest, pemBegin) || bytes.HasPrefix(pemEnd, bytes.TrimRight(rest, " \t\n\f\r")) {
		return 0, &PEMError{Reason: "end"}
	}
	if !bytes.HasPrefix(rest, pemEnd) {
		return 0, badBase64(text, dash)
	}
	line := lineOf(text, dash)
	name, end, ok := boundary(text, dash+len(pemEnd))
	if !ok {
		return 0, &PEMError{Reason: "boundary", Line: line}
	}
	if name != label {
		return 0, &PEMError{Reason: "end-label", Line: line}
	}
	if after := bytes.TrimLeft(text[end:], " \t"); len(after) > 0 && !isSpace(after[0]) {
		return 0, &PEMError{Reason: "boundary", Line: line}
	}
	if second, found := nextBegin(text, end, true); found {
		return 0, &PEMError{Reason: "several", Line: lineOf(text, second)}
	}
	return dash, nil
}

// decodeBody decodes the base64 between two offsets of a text.
func decodeBody(text []byte, at, end int) ([]byte, error) {
	characters := make([]byte, 0, end-at)
	defer func() { clear(characters) }()
	for _, c := range text[at:end] {
		if !isSpace(c) {
			characters = append(characters, c)
		}
	}
	content := make([]byte, base64.StdEncoding.DecodedLen(len(characters)))
	n, err := base64.StdEncoding.Strict().Decode(content, characters)
	if err == nil && n > 0 {
		return content[:n], nil
	}
	clear(content)
	padding := 0
	for i, c := range text[at:end] {
		switch {
		case isSpace(c):
		case c == '=' && padding < 2:
			padding++
		case padding == 0 && (c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '+' || c == '/'):
		default:
			return nil, badBase64(text, at+i)
		}
	}
	return nil, &PEMError{Reason: "padding"}
}

// isSpace reports whether a byte is white space of RFC 7468.
func isSpace(c byte) bool { return c == ' ' || c >= '\t' && c <= '\r' }

// startOf returns where a text begins after its byte order mark.
func startOf(text []byte) int {
	if bytes.HasPrefix(text, pemMark) {
		return len(pemMark)
	}
	return 0
}

// nextBegin finds the next BEGIN at the beginning of a line, after white space. inLine says that other
// characters of its line are before the offset.
func nextBegin(text []byte, from int, inLine bool) (int, bool) {
	for at := from; at < len(text); at++ {
		if !inLine && bytes.HasPrefix(text[at:], pemBegin) {
			return at, true
		}
		if c := text[at]; c == '\n' || c == '\r' {
			inLine = false
		} else {
			inLine = inLine || !isSpace(c)
		}
	}
	return 0, false
}

// boundary parses the rest of a boundary, a space, a label and five dashes, and returns where it ends.
func boundary(text []byte, at int) (string, int, bool) {
	rest, ok := bytes.CutPrefix(text[at:], []byte(" "))
	n := bytes.Index(rest, []byte("-----"))
	if !ok || n < 0 || !utf8.Valid(rest[:n]) {
		return "", 0, false
	}
	label := string(rest[:n])
	// Printable characters; a hyphen or a space only between others.
	parts := strings.FieldsFunc(label, func(c rune) bool { return c == ' ' || c == '-' })
	separators := strings.Count(label, " ") + strings.Count(label, "-")
	graphic := func(c rune) bool { return c > ' ' && c < 0x7f || c == ' ' }
	if len(parts) != separators+1 || strings.ContainsFunc(label, func(c rune) bool { return !graphic(c) }) {
		return "", 0, false
	}
	return label, at + 1 + n + 5, true
}

func firstCharacters(text string, n int) string {
	characters := []rune(text)
	return string(characters[:min(n, len(characters))])
}

func badBase64(text []byte, at int) error {
	start := startOf(text)
	if end := bytes.LastIndexAny(text[:at], "\n\r"); end >= 0 {
		start = end + 1
	}
	return &PEMError{Reason: "base64", Line: lineOf(text, at), Column: at - start + 1}
}

// lineOf counts the lines up to the one with an offset. CR LF is one end of line.
func lineOf(text []byte, at int) int {
	line := 1
	for n, c := range text[:at] {
		if c == '\n' || c == '\r' && !slices.Equal(text[n+1:min(n+2, len(text))], []byte("\n")) {
			line++
		}
	}
	return line
}
