$KECCAKF
function absorb(p) {
$ABSORB    keccakf()
}
function squeeze(p) {
$SQUEEZE}
function empty() { $EMPTY }
function shake(p, n) {
    empty()
    let end := add(p, n)
    calldatacopy(end, calldatasize(), 168)
    mstore8(end, 0x1f)
    end := add(p, mul(136, add(div(n, 136), 1)))
    mstore8(sub(end, 1), or(shr(248, mload(sub(end, 1))), 0x80))
    for {} lt(p, end) { p := add(p, 136) } {
        lanes(p, $BLOCK, 5)
        absorb($BLOCK)
    }
}
$LANES
