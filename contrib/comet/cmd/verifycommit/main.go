//go:build cometbft_patched

// Command verifycommit measures types.VerifyCommit of CometBFT for ML-DSA-44 and 65 by this module
// and by CIRCL, and for Ed25519 in batches, in turn in one process. (Go 1.26 has no public ML-DSA.)
// It needs a patched CometBFT:
//
//	go run ./cmd/patch ../../target/cometbft
//	go run -mod=mod -modfile ../../target/cometbft.mod -tags mldsa_cgo,cometbft_patched ./cmd/verifycommit
//
// Each commit is checked first: the valid one passes, and one with a changed signature at the
// start, in the middle or at the end fails at that signature. The figures are lower quartiles of
// process time.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/cloudflare/circl/sign/mldsa/mldsa44"
	"github.com/cometbft/cometbft/crypto"
	"github.com/cometbft/cometbft/crypto/batch"
	"github.com/cometbft/cometbft/crypto/ed25519"
	"github.com/cometbft/cometbft/crypto/mldsa65"
	cmtproto "github.com/cometbft/cometbft/proto/tendermint/types"
	"github.com/cometbft/cometbft/types"
	"mldsa.example/go"
	"mldsa.example/go/comet"
)

const chain = "verifycommit"

// contender is one kind of validator key.
type contender struct {
	name string
	key  func(seed []byte) (crypto.PrivKey, error)
	// set is the parameter set of a batch verifier of this module, or 0.
	set mldsa.Set
}

func ours(set mldsa.Set) func([]byte) (crypto.PrivKey, error) {
	return func(seed []byte) (crypto.PrivKey, error) { return comet.NewPrivKeyFromSeed(set, seed) }
}

var contenders = []contender{
	{"Ed25519, batch of CometBFT", func(seed []byte) (crypto.PrivKey, error) {
		return ed25519.GenPrivKeyFromSecret(seed), nil
	}, 0},
	{"ML-DSA-65, CIRCL in CometBFT", func(seed []byte) (crypto.PrivKey, error) {
		return mldsa65.GenPrivKeyFromSeed(seed)
	}, 0},
	{"ML-DSA-65, this module, single", ours(mldsa.MLDSA65), 0},
	{"ML-DSA-65, this module, batch", ours(mldsa.MLDSA65), mldsa.MLDSA65},
	{"ML-DSA-44, CIRCL", newCircl44, 0},
	{"ML-DSA-44, this module, single", ours(mldsa.MLDSA44), 0},
	{"ML-DSA-44, this module, batch", ours(mldsa.MLDSA44), mldsa.MLDSA44},
}

// use registers the batch verifier of a contender, or none.
func (c contender) use() {
	for _, set := range []mldsa.Set{mldsa.MLDSA44, mldsa.MLDSA65} {
		batch.Register(comet.KeyType(set), nil)
	}
	if c.set != 0 {
		batch.Register(comet.KeyType(c.set), func() crypto.BatchVerifier { return comet.NewBatchVerifier(c.set) })
	}
}

// circl44 is ML-DSA-44 by CIRCL, which CometBFT does not have.
type circl44 struct {
	public *mldsa44.PublicKey
	secret *mldsa44.PrivateKey
}

func newCircl44(seed []byte) (crypto.PrivKey, error) {
	public, secret := mldsa44.NewKeyFromSeed((*[32]byte)(seed))
	return circl44{public, secret}, nil
}

func (k circl44) Bytes() []byte { return k.secret.Bytes() }
func (k circl44) Sign(msg []byte) ([]byte, error) {
	signature := make([]byte, mldsa44.SignatureSize)
	return signature, mldsa44.SignTo(k.secret, msg, nil, false, signature)
}
func (k circl44) PubKey() crypto.PubKey            { return circl44Public{k.public} }
func (k circl44) Equals(other crypto.PrivKey) bool { return bytes.Equal(k.Bytes(), other.Bytes()) }
func (circl44) Type() string                       { return "ml_dsa_44_circl" }

type circl44Public struct{ key *mldsa44.PublicKey }

func (k circl44Public) Bytes() []byte                   { return k.key.Bytes() }
func (k circl44Public) Address() crypto.Address         { return crypto.AddressHash(k.Bytes()) }
func (k circl44Public) Equals(other crypto.PubKey) bool { return bytes.Equal(k.Bytes(), other.Bytes()) }
func (circl44Public) Type() string                      { return "ml_dsa_44_circl" }
func (k circl44Public) VerifySignature(msg, sig []byte) bool {
	return mldsa44.Verify(k.key, msg, nil, sig)
}

// commit is a commit with its validators.
type commit struct {
	validators *types.ValidatorSet
	commit     *types.Commit
	id         types.BlockID
}

func makeCommit(n int, key func([]byte) (crypto.PrivKey, error)) (commit, error) {
	private := map[string]crypto.PrivKey{}
	var validators []*types.Validator
	for i := range n {
		seed := bytes.Repeat([]byte{byte(i), byte(i >> 8), 7, 9}, 8)
		k, err := key(seed)
		if err != nil {
			return commit{}, err
		}
		validator := types.NewValidator(k.PubKey(), 100)
		validators = append(validators, validator)
		private[string(validator.Address)] = k
	}
	set := types.NewValidatorSet(validators)
	hash := bytes.Repeat([]byte{1}, 32)
	id := types.BlockID{Hash: hash, PartSetHeader: types.PartSetHeader{Total: 1, Hash: hash}}
	made := &types.Commit{Height: 1000, BlockID: id}
	start := time.Unix(1_700_000_000, 0).UTC()
	for i, validator := range set.Validators {
		at := start.Add(time.Duration(i) * time.Millisecond)
		vote := &types.Vote{
			Type: cmtproto.PrecommitType, Height: 1000, BlockID: id, Timestamp: at,
			ValidatorAddress: validator.Address, ValidatorIndex: int32(i),
		}
		signature, err := private[string(validator.Address)].Sign(types.VoteSignBytes(chain, vote.ToProto()))
		if err != nil {
			return commit{}, err
		}
		made.Signatures = append(made.Signatures, types.CommitSig{
			BlockIDFlag: types.BlockIDFlagCommit, ValidatorAddress: validator.Address,
			Timestamp: at, Signature: signature,
		})
	}
	return commit{set, made, id}, nil
}

func (c commit) verify() error {
	return types.VerifyCommit(chain, c.validators, c.id, 1000, c.commit)
}

// check verifies the commit, and commits with one changed signature.
func (c commit) check(n int) error {
	for range 3 {
		if err := c.verify(); err != nil {
			return err
		}
	}
	for _, bad := range []int{0, n / 2, n - 1} {
		signature := c.commit.Signatures[bad].Signature
		signature[17] ^= 1
		err := c.verify()
		signature[17] ^= 1
		if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("wrong signature (#%d)", bad)) {
			return fmt.Errorf("signature %d was changed: %v", bad, err)
		}
	}
	return nil
}

// processTime is the CPU time of the process, which other processes change less than the clock.
func processTime() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		panic(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

func measure(n, rounds int) ([]float64, error) {
	commits := make([]commit, len(contenders))
	for i, contender := range contenders {
		contender.use()
		made, err := makeCommit(n, contender.key)
		if err == nil {
			err = made.check(n)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", contender.name, err)
		}
		commits[i] = made
	}
	samples := make([][]float64, len(contenders))
	for range rounds {
		for i, contender := range contenders {
			contender.use()
			runtime.GC()
			calls, start := 0, processTime()
			for calls == 0 || processTime()-start < 10*time.Millisecond {
				if err := commits[i].verify(); err != nil {
					return nil, err
				}
				calls++
			}
			spent := float64((processTime() - start).Nanoseconds()) / 1e3
			samples[i] = append(samples[i], spent/float64(calls*n))
		}
	}
	quartiles := make([]float64, len(contenders))
	for i := range samples {
		slices.Sort(samples[i])
		quartiles[i] = samples[i][len(samples[i])/4]
	}
	return quartiles, nil
}

func main() {
	rounds := flag.Int("rounds", 25, "rounds over all contenders")
	only := flag.String("only", "", "measure the contenders with this text in their names, for profiles")
	flag.Parse()
	sizes := []int{4, 21, 100, 175}
	contenders = slices.DeleteFunc(contenders, func(c contender) bool { return !strings.Contains(c.name, *only) })
	rows := make([][]float64, len(sizes))
	for i, n := range sizes {
		var err error
		if rows[i], err = measure(n, *rounds); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	fmt.Printf("%s, %s, %s\n\n", runtime.Version(), mldsa.Implementation, time.Now().UTC().Format(time.DateOnly))
	fmt.Println("| us a signature in VerifyCommit | 4 | 21 | 100 | 175 |\n|---|--:|--:|--:|--:|")
	for c, contender := range contenders {
		fmt.Printf("| %s |", contender.name)
		for i := range sizes {
			fmt.Printf(" %.1f |", rows[i][c])
		}
		fmt.Println()
	}
	if *only != "" {
		return
	}
	fmt.Println()
	for _, against := range []int{0, 1} {
		fmt.Printf("ML-DSA-65 of this module in batches / %s:", contenders[against].name)
		for i := range sizes {
			fmt.Printf(" %.2f", rows[i][3]/rows[i][against])
		}
		fmt.Println()
	}
}
