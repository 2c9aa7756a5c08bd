//go:build cometbft_patched

package main

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"

	cfg "github.com/cometbft/cometbft/config"
	"github.com/cometbft/cometbft/consensus"
	"github.com/cometbft/cometbft/crypto"
	"github.com/cometbft/cometbft/libs/log"
	cmtnode "github.com/cometbft/cometbft/node"
	"github.com/cometbft/cometbft/p2p"
	"github.com/cometbft/cometbft/privval"
	cmtconsensus "github.com/cometbft/cometbft/proto/tendermint/consensus"
	cmtproto "github.com/cometbft/cometbft/proto/tendermint/types"
	"github.com/cometbft/cometbft/proxy"
	"github.com/cometbft/cometbft/types"
	"github.com/cosmos/gogoproto/proto"
)

// garbage is a private validator whose signatures are never valid. Its node drops such votes and
// proposals before they reach the network, so garbage sends them itself.
type garbage struct {
	key    crypto.PrivKey
	node   *cmtnode.Node
	signed atomic.Uint64
}

var _ types.PrivValidator = (*garbage)(nil)

// runGarbage runs a node with a garbage validator until the process ends.
func runGarbage(config *cfg.Config) error {
	file := privval.LoadFilePV(config.PrivValidatorKeyFile(), config.PrivValidatorStateFile())
	nodeKey, err := p2p.LoadNodeKey(config.NodeKeyFile())
	if err != nil {
		return err
	}
	validator := &garbage{key: file.Key.PrivKey}
	validator.node, err = cmtnode.NewNode(config, validator, nodeKey,
		proxy.DefaultClientCreator(config.ProxyApp, config.ABCI, config.DBDir()),
		cmtnode.DefaultGenesisDocProviderFunc(config), cfg.DefaultDBProvider,
		cmtnode.DefaultMetricsProvider(config.Instrumentation),
		log.NewFilter(log.NewTMLogger(os.Stdout), log.AllowInfo()))
	if err != nil {
		return err
	}
	if err := validator.node.Start(); err != nil {
		return err
	}
	validator.node.Wait()
	return nil
}

// GetPubKey returns the public key.
func (g *garbage) GetPubKey() (crypto.PubKey, error) { return g.key.PubKey(), nil }

// SignVote signs a vote with garbage and sends it to all peers.
func (g *garbage) SignVote(chainID string, vote *cmtproto.Vote) error {
	signature, err := g.sign(types.VoteSignBytes(chainID, vote))
	vote.Signature = signature
	g.send(consensus.VoteChannel, &cmtconsensus.Vote{Vote: vote})
	return err
}

// SignProposal signs a proposal with garbage and sends it to all peers.
func (g *garbage) SignProposal(chainID string, proposal *cmtproto.Proposal) error {
	signature, err := g.sign(types.ProposalSignBytes(chainID, proposal))
	proposal.Signature = signature
	g.send(consensus.DataChannel, &cmtconsensus.Proposal{Proposal: *proposal})
	return err
}

// sign returns one of four kinds of invalid signatures.
func (g *garbage) sign(message []byte) ([]byte, error) {
	kind := g.signed.Add(1) % 4
	if kind == 1 {
		message = append([]byte{0}, message...)
	}
	signature, err := g.key.Sign(message)
	if err != nil {
		return nil, err
	}
	switch kind {
	case 0:
		rand.Read(signature)
	case 2:
		signature[len(signature)/2] ^= 1
	case 3:
		signature = signature[:len(signature)-1]
	}
	return signature, nil
}

func (g *garbage) send(channel byte, message proto.Message) {
	g.node.Switch().TryBroadcast(p2p.Envelope{ChannelID: channel, Message: message})
}

// rejected returns how often a node has logged an invalid signature.
func (n *node) rejected() (int, error) {
	text, err := os.ReadFile(filepath.Join(n.home, "log"))
	return bytes.Count(text, []byte("invalid signature")), err
}

// checkGarbage checks that the honest validators met invalid signatures, and that no commit has a
// signature of the validator that makes them.
func checkGarbage(nodes []*node, height int64) error {
	address := nodes[garbageAt].key.PubKey().Address()
	for i, n := range nodes[:validators] {
		count, err := n.rejected()
		if err != nil {
			return err
		}
		if count == 0 {
			return fmt.Errorf("node %d has met no invalid signature", i)
		}
		fmt.Printf("node %d rejected %d invalid signatures\n", i, count)
	}
	for h := int64(1); h <= height; h++ {
		commit, err := nodes[0].client.Commit(ctx, &h)
		if err != nil {
			return err
		}
		for _, signature := range commit.Commit.Signatures {
			if bytes.Equal(signature.ValidatorAddress, address) && signature.BlockIDFlag != types.BlockIDFlagAbsent {
				return fmt.Errorf("the commit of block %d has an invalid signature", h)
			}
		}
	}
	fmt.Println("no commit has a signature of the validator that signs garbage")
	return nil
}
