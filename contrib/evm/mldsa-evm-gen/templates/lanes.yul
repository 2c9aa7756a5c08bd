function swap64(x) -> v {
    v := x
$SWAP}
function lanes(from, to, n) {
    for { let end := add(from, shl(5, n)) } lt(from, end) { from := add(from, 32) } {
        let v := swap64(mload(from))
        mstore(to, shr(192, v))
        mstore(add(to, 32), and(shr(128, v), $WORD))
        mstore(add(to, 64), and(shr(64, v), $WORD))
        mstore(add(to, 96), and(v, $WORD))
        to := add(to, 128)
    }
}
