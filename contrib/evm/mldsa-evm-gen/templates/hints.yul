{
    let n := 0
    let bad := 0
    for { let i := 0 } lt(i, $K) { i := add(i, 1) } {
        let end := byte(0, calldataload(add($COUNTS, i)))
        bad := or(bad, or(lt(end, n), gt(end, $OMEGA)))
        if bad { break }
        let next := 0
        let words := add($W, shl(13, div(i, $ROWS)))
        let lane := mul($WIDTH, mod(i, $ROWS))
        let row := add($PACKED, mul(i, $ROWLEN))
        for {} lt(n, end) { n := add(n, 1) } {
            let x := byte(0, calldataload(add($HINT, n)))
            bad := or(bad, lt(x, next))
            next := add(x, 1)
            let v := mod(and(shr(lane, mload(add(words, shl(5, x)))), 0xffffffff), $Q)
            let r1 := div(add(v, $ROUND), $RANGE)
            let up := gt(v, mul(r1, $RANGE))
            if eq(r1, $VALUES) { r1 := 0 up := 0 }
            let new := mod(add(r1, add($LESS, shl(1, up))), $VALUES)
            let at := add(row, shl(5, shr($LOG, x)))
            mstore(at, xor(mload(at), shl(mul($BITS, and(x, $INDEX)), xor(r1, new))))
        }
    }
    for {} lt(n, $OMEGA) { n := add(n, 1) } { bad := or(bad, byte(0, calldataload(add($HINT, n)))) }
    if bad { fail() }
}
