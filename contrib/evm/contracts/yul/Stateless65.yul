// Written by mldsa-evm-gen: change the generator, not this file.
object "Stateless65" {
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
if iszero(gt(calldatasize(), 5261)) { fail() }
calldatacopy(0, 0, 1952)
let done := staticcall(gas(), loadimmutable("expand"), 0, 1952, 3072, 32832)
if iszero(and(done, eq(returndatasize(), 32832))) { revert(0, 0) }
let n := add(sub(calldatasize(), 1952), 32832)
calldatacopy(35904, 1952, sub(calldatasize(), 1952))
if iszero(staticcall(gas(), loadimmutable("core"), 3072, n, 0, 32)) { revert(0, 0) }
    if iszero(eq(returndatasize(), 32)) { revert(0, 0) }
    return(0, 32)
function fail() { mstore(0, 0) return(0, 32) }
        }
    }
}
