switch calldatasize()
case 32 { mstore(0, sload(calldataload(0))) return(0, 32) }
case $PKLEN {
    calldatacopy(0, 0, $PKLEN)
    let done := staticcall(gas(), loadimmutable("expand"), 0, $PKLEN, $INPUT, $EXPANDED)
    if iszero(and(done, eq(returndatasize(), $EXPANDED))) { revert(0, 0) }
    let c := commitment(0)
    sstore(c, 1)
    mstore(0, c)
    return(0, 32)
}
default {
    if iszero(gt(calldatasize(), $LEAST)) { fail() }
    let n := sub(calldatasize(), 64)
    calldatacopy($INPUT, 64, n)
    let c := commitment(32)
    if iszero(eq(c, calldataload(0))) { fail() }
    if iszero(sload(c)) { fail() }
    $CALL
}
function commitment(rho) -> c {
    mstore(0, $TAG)
    calldatacopy(14, rho, 32)
    mcopy(46, $INPUT, 64)
$HASHES    c := keccak256(0, $HASHED)
}
$FAIL
