calldatacopy($DATA, $SIGNATURE, $CLEN)
shake($DATA, $CLEN)
squeeze($BLOCK)
{
    let signs := mload($BLOCK)
    let bytes := mload($SECOND)
    let n := 8
    for { let i := $FIRST } lt(i, 256) { i := add(i, 1) } {
        let j
        for {} 1 {} {
            j := and(bytes, 0xff)
            bytes := shr(8, bytes)
            n := add(n, 1)
            if iszero(and(n, 7)) {
                if eq(n, 136) { keccakf() squeeze($BLOCK) n := 0 }
                bytes := mload(add($BLOCK, shl(2, n)))
            }
            if iszero(gt(j, i)) { break }
        }
        let at := add($Z, shl(5, i))
        let from := add($Z, shl(5, j))
        mstore(at, add(mload(at), sub(and(mload(from), $LANE), $BIAS)))
        let old := mload(from)
        mstore(from, add(sub(old, sub(and(old, $LANE), $BIAS)), sub(1, shl(1, and(signs, 1)))))
        signs := shr(1, signs)
    }
}
