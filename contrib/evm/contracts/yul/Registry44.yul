// Written by mldsa-evm-gen: change the generator, not this file.
object "Registry44" {
    code {
        let size := datasize("runtime")
        datacopy(0, dataoffset("runtime"), size)
        codecopy(size, sub(codesize(), 64), 64)
        setimmutable(0, "expand", mload(add(size, 0)))
        setimmutable(0, "core", mload(add(size, 32)))
        return(0, size)
    }
    object "runtime" {
        code {
switch calldatasize()
case 32 { mstore(0, sload(calldataload(0))) return(0, 32) }
case 1312 {
    calldatacopy(0, 0, 1312)
    let done := staticcall(gas(), loadimmutable("expand"), 0, 1312, 3072, 16448)
    if iszero(and(done, eq(returndatasize(), 16448))) { revert(0, 0) }
    let c := commitment(0)
    sstore(c, 1)
    mstore(0, c)
    return(0, 32)
}
default {
    if iszero(gt(calldatasize(), 18932)) { fail() }
    let n := sub(calldatasize(), 64)
    calldatacopy(3072, 64, n)
    let c := commitment(32)
    if iszero(eq(c, calldataload(0))) { fail() }
    if iszero(sload(c)) { fail() }
    if iszero(staticcall(gas(), loadimmutable("core"), 3072, n, 0, 32)) { revert(0, 0) }
    if iszero(eq(returndatasize(), 32)) { revert(0, 0) }
    return(0, 32)
}
function commitment(rho) -> c {
    mstore(0, 0x4d4c4453412d505245412f76312c000000000000000000000000000000000000)
    calldatacopy(14, rho, 32)
    mcopy(46, 3072, 64)
    mstore(110, keccak256(3136, 16384))
    c := keccak256(0, 142)
}
function fail() { mstore(0, 0) return(0, 32) }
        }
    }
}
