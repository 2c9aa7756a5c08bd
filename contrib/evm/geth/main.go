// Replays transactions of revm in go-ethereum: the precompiles of EIP-8355 are those of the C library,
// and success, output, created address and gas have to be equal.
//
//	go run . LOG.jsonl
package main

import (
	"bufio"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/big"
	"os"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core"
	"github.com/ethereum/go-ethereum/core/state"
	"github.com/ethereum/go-ethereum/core/tracing"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/core/vm"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/params"
	"github.com/holiman/uint256"
)

// transaction is a line of the log. Nonce 0 starts a chain of its own.
type transaction struct {
	Spec, From, To, Data, Output, Created string
	Floor, Success                        bool
	Nonce, Gas, Used                      uint64
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: geth LOG.jsonl, from MLDSA_TX_LOG=LOG.jsonl cargo test")
		os.Exit(2)
	}
	all, equal, precompiled, err := replay(os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Printf("%d of %d equal in verdict, output and gas, of which %d call a precompile\n", equal, all, precompiled)
	if equal != all || precompiled == 0 {
		os.Exit(1)
	}
}

func replay(path string) (all, equal, precompiled int, err error) {
	file, err := os.Open(path)
	if err != nil {
		return 0, 0, 0, err
	}
	defer file.Close()
	lines := bufio.NewReaderSize(file, 1<<20)
	var chain *state.StateDB
	for {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) && len(line) == 0 {
			return all, equal, precompiled, nil
		}
		var t transaction
		if err := errors.Join(err, json.Unmarshal(line, &t)); err != nil {
			return all, equal, precompiled, err
		}
		if t.Nonce == 0 {
			if chain, err = state.New(types.EmptyRootHash, state.NewDatabaseForTesting()); err != nil {
				return all, equal, precompiled, err
			}
			rich := new(uint256.Int).Lsh(uint256.NewInt(1), 80)
			chain.SetBalance(common.HexToAddress(t.From), rich, tracing.BalanceChangeUnspecified)
		}
		// A measurement of revm alone: no chain has these rules.
		if !t.Floor {
			continue
		}
		all++
		if number(t.To) != 0 {
			precompiled++
		}
		if difference := t.execute(chain); difference != nil {
			fmt.Printf("transaction %d (%s, to %q): %v\n", all, t.Spec, t.To, difference)
		} else {
			equal++
		}
	}
}

// execute returns in what the transaction differs.
func (t *transaction) execute(chain *state.StateDB) error {
	rules, zero := rulesOf(t.Spec), common.Hash{}
	block := vm.BlockContext{
		CanTransfer: core.CanTransfer, Transfer: core.Transfer,
		GetHash: func(uint64) common.Hash { return zero }, GasLimit: 1 << 40, BlockNumber: big.NewInt(1), Time: 1,
		Difficulty: new(big.Int), BaseFee: new(big.Int), BlobBaseFee: new(big.Int), Random: &zero,
		CostPerStateByte: params.CostPerStateByte,
	}
	evm := vm.NewEVM(block, chain, rules, vm.Config{})
	active := rules.Rules(block.BlockNumber, true, block.Time)
	contracts := maps.Clone(vm.ActivePrecompiledContracts(active))
	for address, set := range map[byte]precompile{0x12: 44, 0x13: 65, 0x14: 87} {
		contracts[common.BytesToAddress([]byte{address})] = set
	}
	evm.SetPrecompiles(contracts)

	from := common.HexToAddress(t.From)
	chain.SetNonce(from, t.Nonce, tracing.NonceChangeUnspecified)
	data, err := hex.DecodeString(t.Data)
	if err != nil {
		return err
	}
	free := new(uint256.Int)
	message := &core.Message{
		From: from, Nonce: t.Nonce, Value: free, GasLimit: t.Gas, GasPrice: free, GasFeeCap: free, GasTipCap: free,
		Data: data,
	}
	if t.To != "" {
		to := common.HexToAddress(t.To)
		message.To = &to
	}
	result, err := core.ApplyMessage(evm, message, core.NewGasPool(1<<40))
	chain.Finalise(active)
	if err != nil {
		return err
	}
	switch {
	case result.Failed() == t.Success:
		return fmt.Errorf("%v here, success is %v", result.Err, t.Success)
	case result.UsedGas != t.Used:
		return fmt.Errorf("%d gas, not %d", result.UsedGas, t.Used)
	case t.To != "" && t.Success && hex.EncodeToString(result.ReturnData) != t.Output:
		return fmt.Errorf("output %x, not %s", result.ReturnData, t.Output)
	case t.Created != "" && common.HexToAddress(t.Created) != crypto.CreateAddress(from, t.Nonce):
		return errors.New("another address")
	}
	return nil
}

// number is that of an address of EIP-8355, or 0.
func number(to string) byte {
	address := common.HexToAddress(to)
	last := address[len(address)-1]
	if address == common.BytesToAddress([]byte{last}) && last >= 0x12 && last <= 0x14 {
		return last
	}
	return 0
}

// rulesOf is the configuration of a fork by its name in revm.
func rulesOf(spec string) *params.ChainConfig {
	rules, now := *params.MergedTestChainConfig, uint64(0)
	switch spec {
	case "AMSTERDAM":
		rules.AmsterdamTime, rules.BPO1Time, rules.BPO2Time = &now, &now, &now
		rules.BlobScheduleConfig = &params.BlobScheduleConfig{
			Cancun: params.DefaultCancunBlobConfig, Prague: params.DefaultPragueBlobConfig,
			BPO1: params.DefaultBPO1BlobConfig, BPO2: params.DefaultBPO2BlobConfig,
		}
	case "CANCUN":
		rules.PragueTime, rules.OsakaTime = nil, nil
	}
	return &rules
}
