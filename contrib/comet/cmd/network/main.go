//go:build cometbft_patched

// Command network runs a CometBFT network with ML-DSA-65 validators on the loopback interface:
// three validators of a patched binary, one of the released one (CIRCL), and one whose signatures are
// never valid. The application is kvstore.
//
// While the chain grows, one validator is killed and started again, and a node joins by block
// synchronisation. Evidence of two conflicting votes is submitted and has to be in a block. At the
// end all nodes have to have the same block at the last height, and no commit may have an invalid
// signature. A light client that trusts the first block verifies the last one, from the released
// node with a patched witness.
//
//	go run -mod=mod -modfile ../../target/cometbft.mod -tags mldsa_cgo,mldsa_rust,cometbft_patched \
//	    ./cmd/network -patched BINARY -released BINARY
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	dbm "github.com/cometbft/cometbft-db"
	cfg "github.com/cometbft/cometbft/config"
	"github.com/cometbft/cometbft/crypto/mldsa65"
	"github.com/cometbft/cometbft/light"
	"github.com/cometbft/cometbft/light/provider"
	lighthttp "github.com/cometbft/cometbft/light/provider/http"
	lightdb "github.com/cometbft/cometbft/light/store/db"
	"github.com/cometbft/cometbft/p2p"
	"github.com/cometbft/cometbft/privval"
	cmtproto "github.com/cometbft/cometbft/proto/tendermint/types"
	rpc "github.com/cometbft/cometbft/rpc/client/http"
	"github.com/cometbft/cometbft/types"
)

const (
	chain = "mldsa-network"
	// validators is the number of honest validators. The last one is the released binary.
	validators = 4
	// garbageAt is the place of the validator that signs garbage, joinerAt of the node that joins.
	garbageAt = validators
	joinerAt  = validators + 1
	all       = validators + 2
)

// Three honest validators of four are more than two thirds of the whole power.
const (
	power        = 10
	garbagePower = 4
)

var ctx = context.Background()

type node struct {
	binary, home string
	arguments    []string
	port         int
	id           string
	key          mldsa65.PrivKey
	client       *rpc.HTTP
	process      *exec.Cmd
}

func main() {
	patched := flag.String("patched", "", "cometbft with the tags mldsa_rust,mldsa_cgo")
	released := flag.String("released", "", "cometbft as released")
	heights := flag.Int64("heights", 200, "blocks")
	port := flag.Int("port", 36600, "first of 12 TCP ports")
	home := flag.String("garbage", "", "run the node of this folder, which signs garbage")
	peers := flag.String("peers", "", "peers of that node")
	flag.Parse()
	if *home != "" {
		if err := runGarbage(configOf(*home, *port, *peers)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	dir, err := os.MkdirTemp("", "mldsa-network-")
	if err == nil {
		err = run(dir, *patched, *released, *heights, *port)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "FAILED:", err, "; logs in", dir)
		os.Exit(1)
	}
	fmt.Println("passed")
	os.RemoveAll(dir)
}

func run(dir, patched, released string, heights int64, port int) error {
	nodes, err := makeNodes(dir, patched, released, port)
	if err != nil {
		return err
	}
	defer func() {
		for _, n := range nodes {
			n.kill()
		}
	}()
	for _, n := range nodes[:validators+1] {
		if err := n.start(); err != nil {
			return err
		}
	}
	if err := wait("the first blocks", func() (bool, error) { return atLeast(nodes[:validators], 5) }); err != nil {
		return err
	}
	fmt.Println("5 validators, one with CIRCL, one that signs garbage: height 5")

	// One of four honest ones stops without warning; three continue.
	nodes[1].kill()
	top := nodes[0].height()
	if err := wait("blocks without a validator", func() (bool, error) { return atLeast(nodes[:1], top+10) }); err != nil {
		return err
	}
	if err := nodes[1].start(); err != nil {
		return err
	}
	if err := wait("the restarted validator", func() (bool, error) { return atLeast(nodes[:validators], top+12) }); err != nil {
		return err
	}
	fmt.Println("a killed validator was started again and caught up: height", nodes[1].height())

	if err := nodes[joinerAt].start(); err != nil {
		return err
	}
	top = nodes[0].height()
	if err := wait("block synchronisation", func() (bool, error) { return atLeast(nodes, top+5) }); err != nil {
		return err
	}
	fmt.Println("a new node joined by block synchronisation: height", nodes[joinerAt].height())

	height, err := evidence(nodes)
	if err != nil {
		return err
	}
	fmt.Println("evidence of two conflicting votes is in block", height)

	if err := wait("the last height", func() (bool, error) { return atLeast(nodes, heights) }); err != nil {
		return err
	}
	if err := agree(nodes, heights); err != nil {
		return err
	}
	if err := checkGarbage(nodes, heights); err != nil {
		return err
	}
	return lightClient(nodes, heights)
}

func makeNodes(dir, patched, released string, port int) ([]*node, error) {
	var nodes []*node
	genesis := &types.GenesisDoc{
		ChainID: chain, GenesisTime: time.Now(), InitialHeight: 1, ConsensusParams: types.DefaultConsensusParams(),
	}
	genesis.ConsensusParams.Validator.PubKeyTypes = []string{mldsa65.KeyType}
	var peers []string
	for i := range all {
		n := &node{binary: patched, home: filepath.Join(dir, fmt.Sprint("node", i)), port: port + 2*i}
		var err error
		switch i {
		case validators - 1:
			n.binary = released
		case garbageAt:
			if n.binary, err = os.Executable(); err != nil {
				return nil, err
			}
		}
		if n.key, err = mldsa65.GenPrivKey(); err != nil {
			return nil, err
		}
		config := configOf(n.home, n.port, "")
		for _, folder := range []string{"config", "data"} {
			if err := os.MkdirAll(filepath.Join(n.home, folder), 0o755); err != nil {
				return nil, err
			}
		}
		privval.NewFilePV(n.key, config.PrivValidatorKeyFile(), config.PrivValidatorStateFile()).Save()
		peer, err := p2p.LoadOrGenNodeKey(config.NodeKeyFile())
		if err != nil {
			return nil, err
		}
		n.id = string(peer.ID())
		peers = append(peers, fmt.Sprintf("%s@127.0.0.1:%d", n.id, n.port))
		if i != joinerAt {
			validator := types.GenesisValidator{PubKey: n.key.PubKey(), Power: power}
			if i == garbageAt {
				validator.Power = garbagePower
			}
			genesis.Validators = append(genesis.Validators, validator)
		}
		if n.client, err = rpc.New(n.address(), "/websocket"); err != nil {
			return nil, err
		}
		nodes = append(nodes, n)
	}
	for i, n := range nodes {
		config := configOf(n.home, n.port, strings.Join(peers, ","))
		cfg.WriteConfigFile(filepath.Join(n.home, "config", "config.toml"), config)
		n.arguments = []string{"start", "--home", n.home}
		if i == garbageAt {
			n.arguments = []string{"-garbage", n.home, "-port", strconv.Itoa(n.port), "-peers", strings.Join(peers, ",")}
		}
		if err := genesis.SaveAs(config.GenesisFile()); err != nil {
			return nil, err
		}
	}
	return nodes, nil
}

// configOf is the configuration of a node at a TCP port.
func configOf(home string, port int, peers string) *cfg.Config {
	config := cfg.DefaultConfig().SetRoot(home)
	config.ProxyApp = "kvstore"
	config.RPC.ListenAddress = fmt.Sprintf("tcp://127.0.0.1:%d", port+1)
	config.P2P.ListenAddress = fmt.Sprintf("tcp://127.0.0.1:%d", port)
	config.P2P.PersistentPeers = peers
	config.P2P.AllowDuplicateIP, config.P2P.AddrBookStrict = true, false
	config.Consensus.TimeoutCommit = 20 * time.Millisecond
	// The time that is lost with each proposal of the validator that signs garbage.
	config.Consensus.TimeoutPropose = time.Second
	return config
}

func (n *node) address() string { return fmt.Sprintf("http://127.0.0.1:%d", n.port+1) }

func (n *node) start() error {
	log, err := os.OpenFile(filepath.Join(n.home, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer log.Close()
	n.process = exec.Command(n.binary, n.arguments...)
	n.process.Stdout, n.process.Stderr = log, log
	return n.process.Start()
}

// kill ends the process as a power failure does.
func (n *node) kill() {
	if n.process != nil {
		_ = n.process.Process.Kill()
		_ = n.process.Wait()
		n.process = nil
	}
}

// height is the latest height; 0 while the node does not answer.
func (n *node) height() int64 {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	status, err := n.client.Status(ctx)
	if err != nil {
		return 0
	}
	return status.SyncInfo.LatestBlockHeight
}

func atLeast(nodes []*node, height int64) (bool, error) {
	for _, n := range nodes {
		if n.height() < height {
			return false, nil
		}
	}
	return true, nil
}

// wait ends when done returns true. It fails after MLDSA_TEST_HANG_SECONDS, by default 600.
func wait(what string, done func() (bool, error)) error {
	limit := 600
	if named, err := strconv.Atoi(os.Getenv("MLDSA_TEST_HANG_SECONDS")); err == nil {
		limit = named
	}
	for end := time.Now().Add(time.Duration(limit) * time.Second); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if ok, err := done(); ok || err != nil {
			return err
		}
	}
	return fmt.Errorf("%s: nothing for %d s", what, limit)
}

// evidence submits two conflicting votes of a validator and returns the height of the block that
// has them.
func evidence(nodes []*node) (int64, error) {
	culprit := nodes[2]
	height := nodes[0].height() - 1
	block, err := nodes[0].client.Block(ctx, &height)
	if err != nil {
		return 0, err
	}
	set, err := nodes[0].client.Validators(ctx, &height, nil, nil)
	if err != nil {
		return 0, err
	}
	validatorSet := types.NewValidatorSet(set.Validators)
	address := culprit.key.PubKey().Address()
	index, _ := validatorSet.GetByAddress(address)
	var votes []*types.Vote
	for b := range 2 {
		hash := bytes.Repeat([]byte{byte(b + 1)}, 32)
		vote := &types.Vote{
			Type: cmtproto.PrecommitType, Height: height, Timestamp: block.Block.Time,
			BlockID:          types.BlockID{Hash: hash, PartSetHeader: types.PartSetHeader{Total: 1, Hash: hash}},
			ValidatorAddress: address, ValidatorIndex: index,
		}
		if vote.Signature, err = culprit.key.Sign(types.VoteSignBytes(chain, vote.ToProto())); err != nil {
			return 0, err
		}
		votes = append(votes, vote)
	}
	conflict, err := types.NewDuplicateVoteEvidence(votes[0], votes[1], block.Block.Time, validatorSet)
	if err != nil {
		return 0, err
	}
	// With a changed signature it is no evidence.
	votes[0].Signature[5] ^= 1
	if _, err := nodes[0].client.BroadcastEvidence(ctx, conflict); err == nil {
		return 0, errors.New("evidence with an invalid signature was accepted")
	}
	votes[0].Signature[5] ^= 1
	if _, err := nodes[0].client.BroadcastEvidence(ctx, conflict); err != nil {
		return 0, err
	}
	found, next := int64(0), height
	err = wait("evidence", func() (bool, error) {
		for ; next <= nodes[0].height(); next++ {
			block, err := nodes[0].client.Block(ctx, &next)
			if err != nil {
				return false, err
			}
			if len(block.Block.Evidence.Evidence) > 0 {
				found = next
				return true, nil
			}
		}
		return false, nil
	})
	return found, err
}

// agree checks that all nodes have the same block.
func agree(nodes []*node, height int64) error {
	var first []byte
	for i, n := range nodes {
		commit, err := n.client.Commit(ctx, &height)
		if err != nil {
			return err
		}
		if i == 0 {
			first = commit.Hash()
			size := commit.Commit.ToProto().Size()
			fmt.Printf("height %d, block %X, commit of %d bytes\n", height, first, size)
		}
		if !bytes.Equal(commit.Hash(), first) {
			return fmt.Errorf("node %d has block %X", i, commit.Hash())
		}
	}
	fmt.Println("all", len(nodes), "nodes have this block")
	return nil
}

func lightClient(nodes []*node, height int64) error {
	one := int64(1)
	first, err := nodes[0].client.Commit(ctx, &one)
	if err != nil {
		return err
	}
	primary, err := lighthttp.New(chain, nodes[validators-1].address())
	if err != nil {
		return err
	}
	witness, err := lighthttp.New(chain, nodes[0].address())
	if err != nil {
		return err
	}
	trust := light.TrustOptions{Period: 24 * time.Hour, Height: 1, Hash: first.Hash()}
	client, err := light.NewClient(ctx, chain, trust, primary, []provider.Provider{witness},
		lightdb.New(dbm.NewMemDB(), chain))
	if err != nil {
		return err
	}
	block, err := client.VerifyLightBlockAtHeight(ctx, height, time.Now())
	if err != nil {
		return err
	}
	fmt.Printf("a light client verified block %X from the first one\n", block.Hash())
	return nil
}
