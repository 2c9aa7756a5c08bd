if iszero(eq(calldatasize(), $PKLEN)) { revert(0, 0) }
let tables := loadimmutable("tables")
extcodecopy(tables, $CONSTANTS, $TABCONSTANTS, 768)
extcodecopy(tables, $TABLE, $TABQUOTIENTS, $ZETALEN)
extcodecopy(tables, $TABZETAMEM, $TABZETAS, $ZETALEN)
// Every second triple of constants is rotated for one state, not for four.
mcopy($FOUR, $CONSTANTS, 768)
for { let r := add($FOUR, 96) } lt(r, $RHO) { r := add(r, 192) } {
    for { let i := 0 } lt(i, 96) { i := add(i, 32) } {
        let c := mload(add(r, i))
        mstore(add(r, i), or(shr(32, c), shl(224, c)))
    }
}
// tr
calldatacopy($POLYS, 0, $PKLEN)
lanes($POLYS, $RHO, 1)
shake($POLYS, $PKLEN)
squeeze($BLOCK)
let tr0 := pack4($BLOCK)
let tr1 := pack4(add($BLOCK, 128))
// ExpandA
for { let t := 0 } lt(t, $ENTRIES) { t := add(t, 4) } {
    $EMPTY
    $SEED
    mstore($NONCELANE, or(or(nonce(t), shl(64, nonce(add(t, 1)))), or(shl(128, nonce(add(t, 2))), shl(192, nonce(add(t, 3))))))
    mstore($LASTLANE, xor(mload($LASTLANE), $TOPS))
    for { let j := 0 } lt(j, 4) { j := add(j, 1) } {
        let u := add(t, j)
        let at := add($POLYS, mul($SLOT, add(mul(div(u, $L), $COLUMNS), mod(u, $L))))
        mstore(add($NEXT, shl(5, j)), at)
        mstore(add($END, shl(5, j)), add(at, mul(1024, lt(u, $ENTRIES))))
    }
    for { let busy := 1 } busy {} {
        for { let r := $FOUR } lt(r, $RHO) { r := add(r, 64) } { mstore($CONSTANT, r) $ROUNDS }
        busy := 0
        for { let j := 0 } lt(j, 4) { j := add(j, 1) } {
            let at := mload(add($NEXT, shl(5, j)))
            let end := mload(add($END, shl(5, j)))
            if lt(at, end) {
                let n := shl(6, j)
                $HEADGROUPS
                if lt(at, end) {
                    $TAILGROUPS
                }
                mstore(add($NEXT, shl(5, j)), at)
                busy := or(busy, lt(at, end))
            }
        }
    }
}
// t1
for { let row := 0 } lt(row, $K) { row := add(row, 4) } {
    let s := add(32, mul(320, row))
    for { let d := $OUT } lt(d, $OUTEND) { d := add(d, 512) } {
        $DECODE
        s := add(s, 20)
    }
    ntt($OUT)
    for { let lane := 0 } lt(lane, 4) { lane := add(lane, 1) } {
        if lt(add(row, lane), $K) {
            let to := add($POLYS, mul($SLOT, add(mul(add(row, lane), $COLUMNS), $L)))
            let shift := shl(6, lane)
            for { let d := $OUT } lt(d, $OUTEND) { d := add(d, 32) } {
                let t := mulmod(and(shr(shift, mload(d)), $WORD), $MINUS, $Q)
                mstore(to, shl(224, t))
                to := add(to, 4)
            }
        }
    }
}
// words
mstore($OUT, tr0)
mstore(add($OUT, 32), tr1)
{
    let d := add($OUT, 64)
    for { let group := $POLYS } lt(group, $OUT) { group := add(group, $GROUPLEN) } {
        for { let j := group } lt(j, add(group, $STEPS)) { j := add(j, 4) } {
            $WORDS
            d := add(d, $WORDLEN)
        }
    }
}
return($OUT, $RESULT)
function nonce(t) -> v { v := or(0x1f0000, or(mod(t, $L), shl(8, div(t, $L)))) }
function pack4(from) -> v {
    v := swap64(or(or(shl(192, mload(from)), shl(128, mload(add(from, 32)))), or(shl(64, mload(add(from, 64))), mload(add(from, 96)))))
}
function bswap(x) -> v {
    v := swap64(x)
    v := or(or(shr(192, v), shl(192, v)), or(and(shl(64, v), $THIRD), and(shr(64, v), $SECOND)))
}
function put(v, at) -> next { next := $PUT }
$NTT
$SHAKE
