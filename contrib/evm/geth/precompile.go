package main

// #include "mldsa.h"
import "C"

import (
	"errors"
	"fmt"
	"math"
	"unsafe"
)

// precompile is that of EIP-8355 for a parameter set, by the C library.
type precompile uint32

// call returns gas and verdict; gas alone with a limit of 0, which is below every price.
func (set precompile) call(input []byte, limit uint64) (gas uint64, valid bool, status C.mldsa_status) {
	var charged C.uint64_t
	var verdict C.uint8_t
	bytes := (*C.uint8_t)(unsafe.SliceData(input))
	status = C.mldsa_eip8355(C.uint32_t(set), bytes, C.size_t(len(input)), C.uint64_t(limit), &charged, &verdict)
	return uint64(charged), verdict == 1, status
}

// RequiredGas returns the price of an input.
func (set precompile) RequiredGas(input []byte) uint64 {
	gas, _, _ := set.call(input, 0)
	return gas
}

// Run returns one or zero in 32 bytes.
func (set precompile) Run(input []byte) ([]byte, error) {
	_, valid, status := set.call(input, math.MaxUint64)
	if status != C.MLDSA_STATUS_OK {
		return nil, errors.New("the C library failed")
	}
	word := make([]byte, 32)
	if valid {
		word[31] = 1
	}
	return word, nil
}

// Name returns the name of EIP-8355.
func (set precompile) Name() string { return fmt.Sprintf("VERIFY_MLDSA%d", set) }
