package comet

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/cometbft/cometbft/crypto"
	"github.com/cometbft/cometbft/crypto/ed25519"
	"github.com/cometbft/cometbft/crypto/mldsa65"
	"mldsa.example/go"
)

func pair(t *testing.T, n int) (PrivKey, mldsa65.PrivKey) {
	t.Helper()
	seed := bytes.Repeat([]byte{byte(n)}, 32)
	ours, err := NewPrivKeyFromSeed(mldsa.MLDSA65, seed)
	if err != nil {
		t.Fatal(err)
	}
	theirs, err := mldsa65.GenPrivKeyFromSeed(seed)
	if err != nil {
		t.Fatal(err)
	}
	return ours, theirs
}

func TestLogsHaveNoPrivateKey(t *testing.T) {
	key, _ := pair(t, 7)
	var out bytes.Buffer
	slog.New(slog.NewJSONHandler(&out, nil)).Info("m", "key", key, "pointer", &key)
	slog.New(slog.NewTextHandler(&out, nil)).Info("m", "key", key, "pointer", &key)
	values := []any{key, &key, []PrivKey{key}, struct{ Key PrivKey }{key}, struct{ key *PrivKey }{&key}}
	for verb := 'A'; verb <= 'z'; verb++ {
		for _, flag := range []string{"", "+", "#"} {
			for _, value := range values {
				fmt.Fprintf(&out, "%"+flag+string(verb)+"\n", value)
			}
		}
	}
	secret := key.Bytes()[32:40] // K follows rho.
	for _, text := range []string{
		string(secret), fmt.Sprintf("%x", secret), fmt.Sprintf("%X", secret), strings.Trim(fmt.Sprint(secret), "[]"),
		strings.Trim(fmt.Sprintf("%#v", secret), "[]byte{}"), base64.StdEncoding.EncodeToString(key.Bytes())[:64],
	} {
		if strings.Contains(out.String(), text) {
			t.Fatalf("a log has %q", text)
		}
	}
	if fmt.Sprint(key) != "PrivKey(ml_dsa_65)" {
		t.Fatal(fmt.Sprint(key))
	}
}

func TestKeysAreThoseOfCometBFT(t *testing.T) {
	for n := range 30 {
		ours, theirs := pair(t, n)
		if !bytes.Equal(ours.Bytes(), theirs.Bytes()) || ours.Type() != theirs.Type() {
			t.Fatal(n, "private key")
		}
		a, b := ours.PubKey(), theirs.PubKey()
		if !bytes.Equal(a.Bytes(), b.Bytes()) || a.Type() != b.Type() || !bytes.Equal(a.Address(), b.Address()) {
			t.Fatal(n, "public key")
		}
		if fmt.Sprint(a) != fmt.Sprint(b) {
			t.Fatal(n, "text")
		}
		msg := bytes.Repeat([]byte{1}, n)
		sigA, errA := ours.Sign(msg)
		sigB, errB := theirs.Sign(msg)
		if errA != nil || errB != nil || !bytes.Equal(sigA, sigB) {
			t.Fatal(n, "signature")
		}
		for _, both := range [][2]any{{ours, theirs}, {a, b}} {
			x, errA := json.Marshal(both[0])
			y, errB := json.Marshal(both[1])
			if errA != nil || errB != nil || !bytes.Equal(x, y) {
				t.Fatal(n, "JSON")
			}
		}
		text, _ := json.Marshal(theirs)
		var read PrivKey
		if err := json.Unmarshal(text, &read); err != nil || !read.Equals(ours) {
			t.Fatal(n, err)
		}
		text, _ = json.Marshal(b)
		var public PubKey
		if err := json.Unmarshal(text, &public); err != nil || !public.Equals(a) {
			t.Fatal(n, err)
		}
		parsed, err := NewPrivKey(mldsa.MLDSA65, theirs.Bytes())
		if err != nil || !parsed.PubKey().Equals(a) {
			t.Fatal(n, err)
		}
	}
}

func TestZeroValuesAreThoseOfCometBFT(t *testing.T) {
	if (PubKey{}).Bytes() != nil || (PubKey{}).VerifySignature(nil, make([]byte, 3309)) ||
		(PubKey{}).Type() != mldsa65.KeyType || (PrivKey{}).Type() != mldsa65.KeyType {
		t.Fatal("zero value")
	}
	if !bytes.Equal((PubKey{}).Address(), mldsa65.PubKey{}.Address()) {
		t.Fatal("address")
	}
	if !(PrivKey{}).PubKey().Equals(PubKey{}) || (PrivKey{}).Bytes() != nil || (PrivKey{}).Equals(nil) {
		t.Fatal("zero private key")
	}
	if _, err := (PrivKey{}).Sign(nil); err != ErrPrivKey {
		t.Fatal(err)
	}
	for _, zero := range []*BatchVerifier{nil, {}} {
		if all, verdicts := zero.Verify(); all || len(verdicts) != 0 || zero.Add(PubKey{}, nil, nil) == nil {
			t.Fatal("zero batch")
		}
	}
	ours, _ := pair(t, 1)
	if ours.PubKey().Equals(PubKey{}) || (PubKey{}).Equals(ours.PubKey()) || !(PubKey{}).Equals(PubKey{}) {
		t.Fatal("equality")
	}
}

func TestBatchVerdictsAreThoseOfCometBFT(t *testing.T) {
	for round := range 3 {
		verifier := NewBatchVerifier(mldsa.MLDSA65)
		var want []bool
		for n := range 25 {
			ours, theirs := pair(t, n)
			msg := []byte(fmt.Sprint(round, n))
			sig, _ := theirs.Sign(msg)
			sig[(n*131+round)%len(sig)] ^= byte(n % 2)
			if err := verifier.Add(ours.PubKey(), msg, sig); err != nil {
				t.Fatal(err)
			}
			want = append(want, theirs.PubKey().VerifySignature(msg, sig))
		}
		if all, verdicts := verifier.Verify(); all || fmt.Sprint(verdicts) != fmt.Sprint(want) {
			t.Fatal(verdicts, want)
		}
		if all, verdicts := verifier.Verify(); all || len(verdicts) != 0 {
			t.Fatal("a verifier after Verify")
		}
	}
}

func TestBadInput(t *testing.T) {
	var verifier crypto.BatchVerifier = NewBatchVerifier(mldsa.MLDSA65)
	ours, _ := pair(t, 1)
	for _, key := range []crypto.PubKey{nil, ed25519.GenPrivKey().PubKey(), PubKey{}} {
		if verifier.Add(key, nil, make([]byte, 3309)) == nil {
			t.Fatal("added", key)
		}
	}
	if verifier.Add(ours.PubKey(), nil, make([]byte, 3308)) == nil {
		t.Fatal("added a short signature")
	}
	if all, _ := verifier.Verify(); all {
		t.Fatal("an empty batch is valid")
	}
	if _, err := NewPubKey(mldsa.MLDSA65, make([]byte, 3)); err != ErrPubKeySize {
		t.Fatal(err)
	}
	if _, err := NewPrivKey(mldsa.MLDSA65, make([]byte, 3)); err != ErrPrivKeySize {
		t.Fatal(err)
	}
	if _, err := NewPrivKey(mldsa.MLDSA65, make([]byte, 4032)); err != ErrPrivKey {
		t.Fatal(err)
	}
}

// Keys that were only parsed do not replace keys of validators, which have signed.
func TestParsedKeysDoNotFillTheCache(t *testing.T) {
	ours, _ := pair(t, 1)
	sig, err := ours.Sign(nil)
	if err != nil || !ours.PubKey().VerifySignature(nil, sig) {
		t.Fatal(err)
	}
	validator := ours.PubKey().(PubKey).key
	before := keys.Len()
	encoded := bytes.Repeat([]byte{7}, 1952)
	for n := range 3000 {
		encoded[0], encoded[1] = byte(n), byte(n>>8)
		key, err := NewPubKey(mldsa.MLDSA65, encoded)
		if err != nil || key.VerifySignature(nil, sig) {
			t.Fatal(n, err)
		}
	}
	if keys.Len() != before || ours.PubKey().(PubKey).key != validator {
		t.Fatal(keys.Len(), "cached keys")
	}
}
