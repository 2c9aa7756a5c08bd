{
$CONSTANTTABLE$ZETATABLE
let sig := $PKLEN
let tail := add(sig, $SIGLEN)
if iszero(gt(calldatasize(), tail)) { fail() }
if lt(sub(calldatasize(), add(tail, 1)), byte(0, calldataload(tail))) { fail() }
let hint := add(add(sig, $CLEN), mul($L, $ZLEN))

// z: algorithm 19 BitUnpack, norm, algorithm 41 NTT
for { let i := 0 } lt(i, $L) { i := add(i, 1) } {
    for { let j := 0 } lt(j, 256) { j := add(j, 1) } {
        let f := bits(add(add(sig, $CLEN), mul(i, $ZLEN)), mul(j, $ZBITS), $ZBITS)
        // |gamma1 - f| < gamma1 - beta
        if iszero(and(gt(f, $BETA), lt(f, sub(mul(2, $GAMMA1), $BETA)))) { fail() }
        mstore(add(add($Z, mul(8192, i)), mul(32, j)), mod(sub(add($GAMMA1, $Q), f), $Q))
    }
    ntt(add($Z, mul(8192, i)))
}

// mu
calldatacopy($HASHED, 0, $PKLEN)
shake($HASHED, $PKLEN, 136)
squeeze($HASHED, 64)
mstore8(add($HASHED, 64), 0)
calldatacopy(add($HASHED, 65), tail, sub(calldatasize(), tail))
shake($HASHED, add(65, sub(calldatasize(), tail)), 136)
squeeze($HASHED, 64)

// c: algorithm 29 SampleInBall
{
    let scratch := add($HASHED, 64)
    calldatacopy(scratch, sig, $CLEN)
    shake(scratch, $CLEN, 136)
    for { let j := 0 } lt(j, 256) { j := add(j, 1) } { mstore(add($C, mul(32, j)), 0) }
    let n := 8
    let signs := 0
    for { let i := 0 } lt(i, 8) { i := add(i, 1) } { signs := or(signs, shl(mul(8, i), statebyte(i))) }
    for { let i := $FIRST } lt(i, 256) { i := add(i, 1) } {
        let j := 256
        for {} gt(j, i) {} {
            if eq(n, 136) { keccakf() n := 0 }
            j := statebyte(n)
            n := add(n, 1)
        }
        mstore(add($C, mul(32, i)), mload(add($C, mul(32, j))))
        switch and(signs, 1)
        case 0 { mstore(add($C, mul(32, j)), 1) }
        default { mstore(add($C, mul(32, j)), sub($Q, 1)) }
        signs := shr(1, signs)
    }
    ntt($C)
}

let n := 0
for { let r := 0 } lt(r, $K) { r := add(r, 1) } {
    // w = NTT^-1(A z - c NTT(t1 2^13))
    for { let j := 0 } lt(j, 256) { j := add(j, 1) } {
        mstore(add($T1, mul(32, j)), mul(8192, bits(add(32, mul(320, r)), mul(10, j), 10)))
    }
    ntt($T1)
    for { let j := 0 } lt(j, 8192) { j := add(j, 32) } {
        mstore(add($ROW, j), sub($Q, mulmod(mload(add($C, j)), mload(add($T1, j)), $Q)))
    }
    for { let s := 0 } lt(s, $L) { s := add(s, 1) } {
        expand(s, r)
        for { let j := 0 } lt(j, 8192) { j := add(j, 32) } {
            let product := mulmod(mload(add($ENTRY, j)), mload(add(add($Z, mul(8192, s)), j)), $Q)
            mstore(add($ROW, j), addmod(mload(add($ROW, j)), product, $Q))
        }
    }
    intt($ROW)

    // algorithm 21 HintBitUnpack
    let end := byte(0, calldataload(add(add(hint, $OMEGA), r)))
    if or(lt(end, n), gt(end, $OMEGA)) { fail() }
    for { let i := n } lt(i, end) { i := add(i, 1) } {
        if gt(i, n) {
            if iszero(gt(byte(0, calldataload(add(hint, i))), byte(0, calldataload(sub(add(hint, i), 1))))) { fail() }
        }
    }
    // algorithms 40 UseHint and 28 w1Encode, bit by bit
    let out := add(add($HASHED, 64), mul(r, $W1LEN))
    for { let j := 0 } lt(j, $W1LEN) { j := add(j, 1) } { mstore8(add(out, j), 0) }
    for { let j := 0 } lt(j, 256) { j := add(j, 1) } {
        let hinted := 0
        if lt(n, end) {
            if eq(j, byte(0, calldataload(add(hint, n)))) { hinted := 1 n := add(n, 1) }
        }
        let w1 := usehint(hinted, mload(add($ROW, mul(32, j))))
        for { let b := 0 } lt(b, $W1BITS) { b := add(b, 1) } {
            let at := add(mul(j, $W1BITS), b)
            let to := add(out, shr(3, at))
            mstore8(to, or(shr(248, mload(to)), shl(and(at, 7), and(1, shr(b, w1)))))
        }
    }
}
for {} lt(n, $OMEGA) { n := add(n, 1) } { if byte(0, calldataload(add(hint, n))) { fail() } }

shake($HASHED, add(64, mul($K, $W1LEN)), 136)
let same := 1
for { let i := 0 } lt(i, $CLEN) { i := add(i, 1) } {
    if iszero(eq(statebyte(i), byte(0, calldataload(add(sig, i))))) { same := 0 }
}
mstore(0, same)
return(0, 32)
}

// width bits of calldata at bit at after from, little endian
function bits(from, at, width) -> v {
    for { let b := 0 } lt(b, width) { b := add(b, 1) } {
        let i := add(at, b)
        v := or(v, shl(b, and(1, shr(and(i, 7), byte(0, calldataload(add(from, shr(3, i))))))))
    }
}
// algorithm 40, with algorithm 36 Decompose
function usehint(hinted, w) -> high {
    high := div(add(w, sub($GAMMA2, 1)), mul(2, $GAMMA2))
    let positive := gt(w, mul(high, mul(2, $GAMMA2)))
    if eq(high, $VALUES) { high := 0 positive := 0 }
    if hinted {
        switch positive
        case 0 { high := mod(add(high, sub($VALUES, 1)), $VALUES) }
        default { high := mod(add(high, 1), $VALUES) }
    }
}
// algorithm 30 RejNTTPoly
function expand(s, r) {
    calldatacopy($SEED, 0, 32)
    mstore8(add($SEED, 32), s)
    mstore8(add($SEED, 33), r)
    shake($SEED, 34, 168)
    let j := 0
    let n := 0
    for {} lt(j, 256) {} {
        if eq(n, 168) { keccakf() n := 0 }
        let a := or(or(statebyte(n), shl(8, statebyte(add(n, 1)))), shl(16, and(0x7f, statebyte(add(n, 2)))))
        n := add(n, 3)
        if lt(a, $Q) { mstore(add($ENTRY, mul(32, j)), a) j := add(j, 1) }
    }
}
function ntt(w) {
    let m := 0
    for { let len := 128 } len { len := shr(1, len) } {
        for { let start := 0 } lt(start, 256) { start := add(start, mul(2, len)) } {
            m := add(m, 1)
            for { let j := start } lt(j, add(start, len)) { j := add(j, 1) } {
                let x := add(w, mul(32, j))
                let y := add(x, mul(32, len))
                let t := mulmod(mload(add($ZETAS, mul(32, m))), mload(y), $Q)
                mstore(y, addmod(mload(x), sub($Q, t), $Q))
                mstore(x, addmod(mload(x), t, $Q))
            }
        }
    }
}
function intt(w) {
    let m := 256
    for { let len := 1 } lt(len, 256) { len := shl(1, len) } {
        for { let start := 0 } lt(start, 256) { start := add(start, mul(2, len)) } {
            m := sub(m, 1)
            for { let j := start } lt(j, add(start, len)) { j := add(j, 1) } {
                let x := add(w, mul(32, j))
                let y := add(x, mul(32, len))
                let t := mload(x)
                mstore(x, addmod(t, mload(y), $Q))
                mstore(y, mulmod(sub($Q, mload(add($ZETAS, mul(32, m)))), addmod(t, sub($Q, mload(y)), $Q), $Q))
            }
        }
    }
    for { let j := 0 } lt(j, 8192) { j := add(j, 32) } { mstore(add(w, j), mulmod(mload(add(w, j)), 8347681, $Q)) }
}
function lane(x, y) -> at { at := add($STATE, mul(32, add(mod(x, 5), mul(5, mod(y, 5))))) }
function rotl(v, n) -> r { r := and(or(shl(n, v), shr(sub(64, n), v)), 0xffffffffffffffff) }
function keccakf() {
    for { let round := 0 } lt(round, 24) { round := add(round, 1) } {
        for { let x := 0 } lt(x, 5) { x := add(x, 1) } {
            let parity := 0
            for { let y := 0 } lt(y, 5) { y := add(y, 1) } { parity := xor(parity, mload(lane(x, y))) }
            mstore(mul(32, x), parity)
        }
        for { let x := 0 } lt(x, 5) { x := add(x, 1) } {
            let d := xor(mload(mul(32, mod(add(x, 4), 5))), rotl(mload(mul(32, mod(add(x, 1), 5))), 1))
            for { let y := 0 } lt(y, 5) { y := add(y, 1) } { mstore(lane(x, y), xor(mload(lane(x, y)), d)) }
        }
        // rho and pi along their common cycle
        let x := 1
        let y := 0
        let carried := mload(lane(1, 0))
        for { let t := 1 } lt(t, 25) { t := add(t, 1) } {
            let z := mod(add(mul(2, x), mul(3, y)), 5)
            x := y
            y := z
            let old := mload(lane(x, y))
            mstore(lane(x, y), rotl(carried, mod(div(mul(t, add(t, 1)), 2), 64)))
            carried := old
        }
        for { y := 0 } lt(y, 5) { y := add(y, 1) } {
            for { x := 0 } lt(x, 5) { x := add(x, 1) } { mstore(mul(32, x), mload(lane(x, y))) }
            for { x := 0 } lt(x, 5) { x := add(x, 1) } {
                let b := and(not(mload(mul(32, mod(add(x, 1), 5)))), mload(mul(32, mod(add(x, 2), 5))))
                mstore(lane(x, y), xor(mload(mul(32, x)), b))
            }
        }
        mstore($STATE, xor(mload($STATE), mload(add($CONSTANTS, mul(32, round)))))
    }
}
function absorbbyte(i, b) {
    let at := add($STATE, mul(32, shr(3, i)))
    mstore(at, xor(mload(at), shl(mul(8, and(i, 7)), b)))
}
function statebyte(i) -> b { b := and(0xff, shr(mul(8, and(i, 7)), mload(add($STATE, mul(32, shr(3, i)))))) }
// SHAKE of len bytes at from, the first block ready
function shake(from, len, rate) {
    for { let i := 0 } lt(i, 800) { i := add(i, 32) } { mstore(add($STATE, i), 0) }
    let n := 0
    for { let i := 0 } lt(i, len) { i := add(i, 1) } {
        absorbbyte(n, shr(248, mload(add(from, i))))
        n := add(n, 1)
        if eq(n, rate) { keccakf() n := 0 }
    }
    absorbbyte(n, 0x1f)
    absorbbyte(sub(rate, 1), 0x80)
    keccakf()
}
function squeeze(to, len) { for { let i := 0 } lt(i, len) { i := add(i, 1) } { mstore8(add(to, i), statebyte(i)) } }
$FAIL
