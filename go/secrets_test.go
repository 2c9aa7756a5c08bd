package mldsa

import (
	"bytes"
	"context"
	"encoding"
	"encoding/base64"
	"encoding/gob"
	"encoding/hex"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"strings"
	"testing"
)

var (
	_ fmt.Formatter              = PrivateKey{}
	_ slog.LogValuer             = PrivateKey{}
	_ encoding.BinaryUnmarshaler = (*PublicKey)(nil)
	_ encoding.TextUnmarshaler   = (*PublicKey)(nil)
)

// holder has a key in each place that printing and encoding treat differently.
type holder struct {
	Pointer *PrivateKey
	Value   PrivateKey
	Any     any
	hidden  *PrivateKey
	inside  PrivateKey
}

// holders returns values that contain a key.
func holders(key *PrivateKey) []any {
	all := holder{key, *key, *key, key, *key}
	return []any{
		key, *key, &key, all, &all, []*PrivateKey{key}, []PrivateKey{*key}, [1]PrivateKey{*key},
		map[string]*PrivateKey{"key": key}, map[string]PrivateKey{"key": *key}, map[*PrivateKey]int{key: 1},
		map[PrivateKey]int{*key: 1}, []any{*key, key}, struct{ *PrivateKey }{key}, struct{ PrivateKey }{*key},
		fmt.Errorf("no use of %v: %w", *key, errors.New("reason")), key.native, struct{ native signer }{key.native},
		&struct{ native *signer }{&key.native},
	}
}

// notations returns texts that show eight bytes of a private key.
func notations(secret []byte) []string {
	var texts []string
	for _, part := range [][]byte{secret[:8], secret[8:16], secret[24:32]} {
		decimal := strings.Trim(fmt.Sprint(part), "[]")
		texts = append(texts, string(part), hex.EncodeToString(part), decimal, strings.ReplaceAll(decimal, " ", ", "),
			strings.ReplaceAll(decimal, " ", ","), strings.Trim(fmt.Sprintf("%#v", part), "[]byte{}"),
			fmt.Sprintf("% x", part), strings.Trim(fmt.Sprintf("%q", part), `"`))
	}
	// Base64 of the bytes at each place of a longer text: the characters that other bytes do not change.
	for skip := range 3 {
		texts = append(texts, base64.RawStdEncoding.EncodeToString(secret[skip:][:9]))
	}
	return texts
}

func TestNothingPrintsAPrivateKey(t *testing.T) {
	for _, set := range allSets {
		seed := []byte("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdef")
		key, err := NewPrivateKey(set, seed)
		if err != nil {
			t.Fatal(err)
		}
		expanded, _ := key.Expanded()
		second, err := ParsePrivateKey(set, expanded)
		if err != nil {
			t.Fatal(err)
		}
		// K, which follows rho, and the seed.
		secrets := append(notations(seed), notations(expanded[32:64])...)
		check := func(place, text string) {
			t.Helper()
			lower := strings.ToLower(text)
			for _, secret := range secrets {
				if strings.Contains(text, secret) || strings.Contains(lower, strings.ToLower(secret)) {
					t.Fatalf("%v %s: %q is in %.300q", set, place, secret, text)
				}
			}
		}
		for _, key := range []*PrivateKey{key, second} {
			for n, value := range holders(key) {
				for verb := 'A'; verb <= 'z'; verb++ {
					for _, flags := range []string{"", "+", "#", "-", " ", "0", "#+", "99", ".3", "# "} {
						format := "%" + flags + string(verb)
						check(fmt.Sprint(n, format), fmt.Sprintf(format, value))
					}
				}
				check("Print", fmt.Sprint(value, value)+fmt.Sprintln(value))
				var out bytes.Buffer
				for _, handler := range []slog.Handler{
					slog.NewTextHandler(&out, nil), slog.NewJSONHandler(&out, nil),
				} {
					slog.New(handler).LogAttrs(context.Background(), slog.LevelInfo, "m",
						slog.Any("key", value), slog.Group("group", slog.Any("key", value)))
				}
				check("slog", out.String())
				check("reflection", strings.Join(reached(reflect.ValueOf(value)), "\n"))
			}
			name := fmt.Sprintf("PrivateKey(%v)", set)
			for _, text := range []string{
				fmt.Sprintf("%s", key), fmt.Sprintf("%d", *key), fmt.Sprint(holder{}.Pointer, key)[len("<nil> "):],
				key.String(), key.LogValue().String(),
			} {
				if text != name {
					t.Fatal(set, text)
				}
			}
		}
	}
}

// reached returns each array of bytes, string and list of numbers that reflection finds in a value.
func reached(value reflect.Value) (texts []string) {
	seen := map[any]bool{}
	var walk func(reflect.Value)
	walk = func(v reflect.Value) {
		switch v.Kind() {
		case reflect.Pointer:
			if place := [2]any{v.Pointer(), v.Type()}; v.IsNil() || seen[place] {
				return
			} else {
				seen[place] = true
			}
			walk(v.Elem())
		case reflect.Interface:
			walk(v.Elem())
		case reflect.Struct:
			for i := range v.NumField() {
				walk(v.Field(i))
			}
		case reflect.Map:
			for entries := v.MapRange(); entries.Next(); {
				walk(entries.Key())
				walk(entries.Value())
			}
		case reflect.Slice, reflect.Array:
			texts = append(texts, fmt.Sprint(v))
			if v.Type().Elem().Kind() != reflect.Uint8 {
				for i := range v.Len() {
					walk(v.Index(i))
				}
			}
		case reflect.String:
			texts = append(texts, v.String())
		}
	}
	walk(value)
	return texts
}

func TestPrivateKeysAreNotEncoded(t *testing.T) {
	key := seeded(t, MLDSA44, 1)
	type exported struct{ Key any }
	for _, value := range []any{
		key, *key, exported{key}, exported{*key}, []PrivateKey{*key}, map[string]*PrivateKey{"a": key},
	} {
		if text, err := json.Marshal(value); !errors.Is(err, ErrSecret) {
			t.Fatalf("JSON of %T: %s %v", value, text, err)
		}
	}
	// The package json does not wrap the error of a key of a map.
	if text, err := json.Marshal(map[PrivateKey]int{*key: 1}); err == nil {
		t.Fatalf("%s", text)
	}
	for _, value := range []any{key, *key, struct{ Key *PrivateKey }{key}, struct{ Key PrivateKey }{*key}, []*PrivateKey{key}} {
		var out bytes.Buffer
		if err := gob.NewEncoder(&out).Encode(value); !errors.Is(err, ErrSecret) {
			t.Fatalf("gob of %T: %v", value, err)
		}
	}
	if text, err := xml.Marshal(key); !errors.Is(err, ErrSecret) {
		t.Fatalf("%s %v", text, err)
	}
	for _, marshal := range []func() ([]byte, error){key.MarshalText, key.MarshalBinary, key.MarshalJSON, key.GobEncode} {
		if out, err := marshal(); out != nil || err != ErrSecret {
			t.Fatal(out, err)
		}
	}
	var read struct{ Key *PrivateKey }
	for _, text := range []string{`{"Key":{}}`, `{"Key":"x"}`, `{"Key":[1]}`} {
		if err := json.Unmarshal([]byte(text), &read); !errors.Is(err, ErrSecret) {
			t.Fatal(text, err)
		}
	}
	for _, unmarshal := range []func([]byte) error{key.UnmarshalText, key.UnmarshalBinary, key.UnmarshalJSON, key.GobDecode} {
		if err := unmarshal(nil); err != ErrSecret || key.Set() != MLDSA44 {
			t.Fatal(err)
		}
	}
}

// Public keys read what they write: text, binary, JSON and gob, as values and inside of others.
func TestPublicKeysReadWhatTheyWrite(t *testing.T) {
	for _, set := range allSets {
		private := seeded(t, set, 2)
		want, signature := private.PublicKey(), signed(t, private, nil, nil)
		check := func(form string, found *PublicKey, err error) {
			t.Helper()
			if err != nil || !found.Equal(want) || !found.Verify(nil, nil, signature) {
				t.Fatal(set, form, err)
			}
			for name, unmarshal := range map[string]func([]byte) error{
				"text": found.UnmarshalText, "binary": found.UnmarshalBinary,
			} {
				other := seeded(t, MLDSA44, 3).PublicKey()
				data, _ := other.MarshalBinary()
				if name == "text" {
					data, _ = other.MarshalText()
				}
				if err := unmarshal(data); err != ErrInUse || !found.Equal(want) {
					t.Fatal(set, form, name, err)
				}
			}
		}
		text, _ := want.MarshalText()
		binary, _ := want.MarshalBinary()
		var fromText, fromBinary PublicKey
		check("text", &fromText, fromText.UnmarshalText(text))
		check("binary", &fromBinary, fromBinary.UnmarshalBinary(binary))
		type config struct {
			Key  *PublicKey
			Keys []*PublicKey
			Map  map[string]*PublicKey
		}
		written := config{want, []*PublicKey{want}, map[string]*PublicKey{"a": want}}
		var fromJSON, fromGob config
		data, err := json.Marshal(&written)
		if err != nil {
			t.Fatal(err)
		}
		err = json.Unmarshal(data, &fromJSON)
		for _, key := range []*PublicKey{fromJSON.Key, fromJSON.Keys[0], fromJSON.Map["a"]} {
			check("JSON", key, err)
		}
		var out bytes.Buffer
		if err := gob.NewEncoder(&out).Encode(&written); err != nil {
			t.Fatal(err)
		}
		err = gob.NewDecoder(&out).Decode(&fromGob)
		for _, key := range []*PublicKey{fromGob.Key, fromGob.Keys[0], fromGob.Map["a"]} {
			check("gob", key, err)
		}
		// A value that others share is not replaced.
		keys := NewKeys(1)
		cached, _ := keys.Parse(set, binary)
		cached.Verify(nil, nil, signature)
		reused := struct{ Key *PublicKey }{cached}
		other, _ := json.Marshal(struct{ Key *PublicKey }{seeded(t, set, 4).PublicKey()})
		if err := json.Unmarshal(other, &reused); !errors.Is(err, ErrInUse) || !cached.Equal(want) {
			t.Fatal(set, err)
		}
		var zero PublicKey
		for _, bad := range [][]byte{nil, binary[1:], append(binary, 0), text[1:]} {
			if zero.UnmarshalBinary(bad) != ErrKeySize || !errors.Is(zero.UnmarshalText(bad), ErrEncoding) || zero.Set() != 0 {
				t.Fatal(set, "a malformed key")
			}
		}
	}
}
