// Written by mldsa-evm-gen: change the generator, not this file.
object "Plain65" {
    code {
        let size := datasize("runtime")
        datacopy(0, dataoffset("runtime"), size)
        return(0, size)
    }
    object "runtime" {
        code {
{
mstore(2048, 0x1)
mstore(2080, 0x8082)
mstore(2112, 0x800000000000808a)
mstore(2144, 0x8000000080008000)
mstore(2176, 0x808b)
mstore(2208, 0x80000001)
mstore(2240, 0x8000000080008081)
mstore(2272, 0x8000000000008009)
mstore(2304, 0x8a)
mstore(2336, 0x88)
mstore(2368, 0x80008009)
mstore(2400, 0x8000000a)
mstore(2432, 0x8000808b)
mstore(2464, 0x800000000000008b)
mstore(2496, 0x8000000000008089)
mstore(2528, 0x8000000000008003)
mstore(2560, 0x8000000000008002)
mstore(2592, 0x8000000000000080)
mstore(2624, 0x800a)
mstore(2656, 0x800000008000000a)
mstore(2688, 0x8000000080008081)
mstore(2720, 0x8000000000008080)
mstore(2752, 0x80000001)
mstore(2784, 0x8000000080008008)
mstore(4096, 0x1)
mstore(4128, 0x495e02)
mstore(4160, 0x397567)
mstore(4192, 0x396569)
mstore(4224, 0x4f062b)
mstore(4256, 0x53df73)
mstore(4288, 0x4fe033)
mstore(4320, 0x4f066b)
mstore(4352, 0x76b1ae)
mstore(4384, 0x360dd5)
mstore(4416, 0x28edb0)
mstore(4448, 0x207fe4)
mstore(4480, 0x397283)
mstore(4512, 0x70894a)
mstore(4544, 0x88192)
mstore(4576, 0x6d3dc8)
mstore(4608, 0x4c7294)
mstore(4640, 0x41e0b4)
mstore(4672, 0x28a3d2)
mstore(4704, 0x66528a)
mstore(4736, 0x4a18a7)
mstore(4768, 0x794034)
mstore(4800, 0xa52ee)
mstore(4832, 0x6b7d81)
mstore(4864, 0x4e9f1d)
mstore(4896, 0x1a2877)
mstore(4928, 0x2571df)
mstore(4960, 0x1649ee)
mstore(4992, 0x7611bd)
mstore(5024, 0x492bb7)
mstore(5056, 0x2af697)
mstore(5088, 0x22d8d5)
mstore(5120, 0x36f72a)
mstore(5152, 0x30911e)
mstore(5184, 0x29d13f)
mstore(5216, 0x492673)
mstore(5248, 0x50685f)
mstore(5280, 0x2010a2)
mstore(5312, 0x3887f7)
mstore(5344, 0x11b2c3)
mstore(5376, 0x603a4)
mstore(5408, 0xe2bed)
mstore(5440, 0x10b72c)
mstore(5472, 0x4a5f35)
mstore(5504, 0x1f9d15)
mstore(5536, 0x428cd4)
mstore(5568, 0x3177f4)
mstore(5600, 0x20e612)
mstore(5632, 0x341c1d)
mstore(5664, 0x1ad873)
mstore(5696, 0x736681)
mstore(5728, 0x49553f)
mstore(5760, 0x3952f6)
mstore(5792, 0x62564a)
mstore(5824, 0x65ad05)
mstore(5856, 0x439a1c)
mstore(5888, 0x53aa5f)
mstore(5920, 0x30b622)
mstore(5952, 0x87f38)
mstore(5984, 0x3b0e6d)
mstore(6016, 0x2c83da)
mstore(6048, 0x1c496e)
mstore(6080, 0x330e2b)
mstore(6112, 0x1c5b70)
mstore(6144, 0x2ee3f1)
mstore(6176, 0x137eb9)
mstore(6208, 0x57a930)
mstore(6240, 0x3ac6ef)
mstore(6272, 0x3fd54c)
mstore(6304, 0x4eb2ea)
mstore(6336, 0x503ee1)
mstore(6368, 0x7bb175)
mstore(6400, 0x2648b4)
mstore(6432, 0x1ef256)
mstore(6464, 0x1d90a2)
mstore(6496, 0x45a6d4)
mstore(6528, 0x2ae59b)
mstore(6560, 0x52589c)
mstore(6592, 0x6ef1f5)
mstore(6624, 0x3f7288)
mstore(6656, 0x175102)
mstore(6688, 0x75d59)
mstore(6720, 0x1187ba)
mstore(6752, 0x52aca9)
mstore(6784, 0x773e9e)
mstore(6816, 0x296d8)
mstore(6848, 0x2592ec)
mstore(6880, 0x4cff12)
mstore(6912, 0x404ce8)
mstore(6944, 0x4aa582)
mstore(6976, 0x1e54e6)
mstore(7008, 0x4f16c1)
mstore(7040, 0x1a7e79)
mstore(7072, 0x3978f)
mstore(7104, 0x4e4817)
mstore(7136, 0x31b859)
mstore(7168, 0x5884cc)
mstore(7200, 0x1b4827)
mstore(7232, 0x5b63d0)
mstore(7264, 0x5d787a)
mstore(7296, 0x35225e)
mstore(7328, 0x400c7e)
mstore(7360, 0x6c09d1)
mstore(7392, 0x5bd532)
mstore(7424, 0x6bc4d3)
mstore(7456, 0x258ecb)
mstore(7488, 0x2e534c)
mstore(7520, 0x97a6c)
mstore(7552, 0x3b8820)
mstore(7584, 0x6d285c)
mstore(7616, 0x2ca4f8)
mstore(7648, 0x337caa)
mstore(7680, 0x14b2a0)
mstore(7712, 0x558536)
mstore(7744, 0x28f186)
mstore(7776, 0x55795d)
mstore(7808, 0x4af670)
mstore(7840, 0x234a86)
mstore(7872, 0x75e826)
mstore(7904, 0x78de66)
mstore(7936, 0x5528c)
mstore(7968, 0x7adf59)
mstore(8000, 0xf6e17)
mstore(8032, 0x5bf3da)
mstore(8064, 0x459b7e)
mstore(8096, 0x628b34)
mstore(8128, 0x5dbecb)
mstore(8160, 0x1a9e7b)
mstore(8192, 0x6d9)
mstore(8224, 0x6257c5)
mstore(8256, 0x574b3c)
mstore(8288, 0x69a8ef)
mstore(8320, 0x289838)
mstore(8352, 0x64b5fe)
mstore(8384, 0x7ef8f5)
mstore(8416, 0x2a4e78)
mstore(8448, 0x120a23)
mstore(8480, 0x154a8)
mstore(8512, 0x9b7ff)
mstore(8544, 0x435e87)
mstore(8576, 0x437ff8)
mstore(8608, 0x5cd5b4)
mstore(8640, 0x4dc04e)
mstore(8672, 0x4728af)
mstore(8704, 0x7f735d)
mstore(8736, 0xc8d0d)
mstore(8768, 0xf66d5)
mstore(8800, 0x5a6d80)
mstore(8832, 0x61ab98)
mstore(8864, 0x185d96)
mstore(8896, 0x437f31)
mstore(8928, 0x468298)
mstore(8960, 0x662960)
mstore(8992, 0x4bd579)
mstore(9024, 0x28de06)
mstore(9056, 0x465d8d)
mstore(9088, 0x49b0e3)
mstore(9120, 0x9b434)
mstore(9152, 0x7c0db3)
mstore(9184, 0x5a68b0)
mstore(9216, 0x409ba9)
mstore(9248, 0x64d3d5)
mstore(9280, 0x21762a)
mstore(9312, 0x658591)
mstore(9344, 0x246e39)
mstore(9376, 0x48c39b)
mstore(9408, 0x7bc759)
mstore(9440, 0x4f5859)
mstore(9472, 0x392db2)
mstore(9504, 0x230923)
mstore(9536, 0x12eb67)
mstore(9568, 0x454df2)
mstore(9600, 0x30c31c)
mstore(9632, 0x285424)
mstore(9664, 0x13232e)
mstore(9696, 0x7faf80)
mstore(9728, 0x2dbfcb)
mstore(9760, 0x22a0b)
mstore(9792, 0x7e832c)
mstore(9824, 0x26587a)
mstore(9856, 0x6b3375)
mstore(9888, 0x95b76)
mstore(9920, 0x6be1cc)
mstore(9952, 0x5e061e)
mstore(9984, 0x78e00d)
mstore(10016, 0x628c37)
mstore(10048, 0x3da604)
mstore(10080, 0x4ae53c)
mstore(10112, 0x1f1d68)
mstore(10144, 0x6330bb)
mstore(10176, 0x7361b8)
mstore(10208, 0x5ea06c)
mstore(10240, 0x671ac7)
mstore(10272, 0x201fc6)
mstore(10304, 0x5ba4ff)
mstore(10336, 0x60d772)
mstore(10368, 0x8f201)
mstore(10400, 0x6de024)
mstore(10432, 0x80e6d)
mstore(10464, 0x56038e)
mstore(10496, 0x695688)
mstore(10528, 0x1e6d3e)
mstore(10560, 0x2603bd)
mstore(10592, 0x6a9dfa)
mstore(10624, 0x7c017)
mstore(10656, 0x6dbfd4)
mstore(10688, 0x74d0bd)
mstore(10720, 0x63e1e3)
mstore(10752, 0x519573)
mstore(10784, 0x7ab60d)
mstore(10816, 0x2867ba)
mstore(10848, 0x2decd4)
mstore(10880, 0x58018c)
mstore(10912, 0x3f4cf5)
mstore(10944, 0xb7009)
mstore(10976, 0x427e23)
mstore(11008, 0x3cbd37)
mstore(11040, 0x273333)
mstore(11072, 0x673957)
mstore(11104, 0x1a4b5d)
mstore(11136, 0x196926)
mstore(11168, 0x1ef206)
mstore(11200, 0x11c14e)
mstore(11232, 0x4c76c8)
mstore(11264, 0x3cf42f)
mstore(11296, 0x7fb19a)
mstore(11328, 0x6af66c)
mstore(11360, 0x2e1669)
mstore(11392, 0x3352d6)
mstore(11424, 0x34760)
mstore(11456, 0x85260)
mstore(11488, 0x741e78)
mstore(11520, 0x2f6316)
mstore(11552, 0x6f0a11)
mstore(11584, 0x7c0f1)
mstore(11616, 0x776d0b)
mstore(11648, 0xd1ff0)
mstore(11680, 0x345824)
mstore(11712, 0x223d4)
mstore(11744, 0x68c559)
mstore(11776, 0x5e8885)
mstore(11808, 0x2faa32)
mstore(11840, 0x23fc65)
mstore(11872, 0x5e6942)
mstore(11904, 0x51e0ed)
mstore(11936, 0x65adb3)
mstore(11968, 0x2ca5e6)
mstore(12000, 0x79e1fe)
mstore(12032, 0x7b4064)
mstore(12064, 0x35e1dd)
mstore(12096, 0x433aac)
mstore(12128, 0x464ade)
mstore(12160, 0x1cfe14)
mstore(12192, 0x73f1ce)
mstore(12224, 0x10170e)
mstore(12256, 0x74b6d7)

let sig := 1952
let tail := add(sig, 3309)
if iszero(gt(calldatasize(), tail)) { fail() }
if lt(sub(calldatasize(), add(tail, 1)), byte(0, calldataload(tail))) { fail() }
let hint := add(add(sig, 48), mul(5, 640))

// z: algorithm 19 BitUnpack, norm, algorithm 41 NTT
for { let i := 0 } lt(i, 5) { i := add(i, 1) } {
    for { let j := 0 } lt(j, 256) { j := add(j, 1) } {
        let f := bits(add(add(sig, 48), mul(i, 640)), mul(j, 20), 20)
        // |gamma1 - f| < gamma1 - beta
        if iszero(and(gt(f, 196), lt(f, sub(mul(2, 524288), 196)))) { fail() }
        mstore(add(add(16384, mul(8192, i)), mul(32, j)), mod(sub(add(524288, 8380417), f), 8380417))
    }
    ntt(add(16384, mul(8192, i)))
}

// mu
calldatacopy(90112, 0, 1952)
shake(90112, 1952, 136)
squeeze(90112, 64)
mstore8(add(90112, 64), 0)
calldatacopy(add(90112, 65), tail, sub(calldatasize(), tail))
shake(90112, add(65, sub(calldatasize(), tail)), 136)
squeeze(90112, 64)

// c: algorithm 29 SampleInBall
{
    let scratch := add(90112, 64)
    calldatacopy(scratch, sig, 48)
    shake(scratch, 48, 136)
    for { let j := 0 } lt(j, 256) { j := add(j, 1) } { mstore(add(57344, mul(32, j)), 0) }
    let n := 8
    let signs := 0
    for { let i := 0 } lt(i, 8) { i := add(i, 1) } { signs := or(signs, shl(mul(8, i), statebyte(i))) }
    for { let i := 207 } lt(i, 256) { i := add(i, 1) } {
        let j := 256
        for {} gt(j, i) {} {
            if eq(n, 136) { keccakf() n := 0 }
            j := statebyte(n)
            n := add(n, 1)
        }
        mstore(add(57344, mul(32, i)), mload(add(57344, mul(32, j))))
        switch and(signs, 1)
        case 0 { mstore(add(57344, mul(32, j)), 1) }
        default { mstore(add(57344, mul(32, j)), sub(8380417, 1)) }
        signs := shr(1, signs)
    }
    ntt(57344)
}

let n := 0
for { let r := 0 } lt(r, 6) { r := add(r, 1) } {
    // w = NTT^-1(A z - c NTT(t1 2^13))
    for { let j := 0 } lt(j, 256) { j := add(j, 1) } {
        mstore(add(81920, mul(32, j)), mul(8192, bits(add(32, mul(320, r)), mul(10, j), 10)))
    }
    ntt(81920)
    for { let j := 0 } lt(j, 8192) { j := add(j, 32) } {
        mstore(add(73728, j), sub(8380417, mulmod(mload(add(57344, j)), mload(add(81920, j)), 8380417)))
    }
    for { let s := 0 } lt(s, 5) { s := add(s, 1) } {
        expand(s, r)
        for { let j := 0 } lt(j, 8192) { j := add(j, 32) } {
            let product := mulmod(mload(add(65536, j)), mload(add(add(16384, mul(8192, s)), j)), 8380417)
            mstore(add(73728, j), addmod(mload(add(73728, j)), product, 8380417))
        }
    }
    intt(73728)

    // algorithm 21 HintBitUnpack
    let end := byte(0, calldataload(add(add(hint, 55), r)))
    if or(lt(end, n), gt(end, 55)) { fail() }
    for { let i := n } lt(i, end) { i := add(i, 1) } {
        if gt(i, n) {
            if iszero(gt(byte(0, calldataload(add(hint, i))), byte(0, calldataload(sub(add(hint, i), 1))))) { fail() }
        }
    }
    // algorithms 40 UseHint and 28 w1Encode, bit by bit
    let out := add(add(90112, 64), mul(r, 128))
    for { let j := 0 } lt(j, 128) { j := add(j, 1) } { mstore8(add(out, j), 0) }
    for { let j := 0 } lt(j, 256) { j := add(j, 1) } {
        let hinted := 0
        if lt(n, end) {
            if eq(j, byte(0, calldataload(add(hint, n)))) { hinted := 1 n := add(n, 1) }
        }
        let w1 := usehint(hinted, mload(add(73728, mul(32, j))))
        for { let b := 0 } lt(b, 4) { b := add(b, 1) } {
            let at := add(mul(j, 4), b)
            let to := add(out, shr(3, at))
            mstore8(to, or(shr(248, mload(to)), shl(and(at, 7), and(1, shr(b, w1)))))
        }
    }
}
for {} lt(n, 55) { n := add(n, 1) } { if byte(0, calldataload(add(hint, n))) { fail() } }

shake(90112, add(64, mul(6, 128)), 136)
let same := 1
for { let i := 0 } lt(i, 48) { i := add(i, 1) } {
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
    high := div(add(w, sub(261888, 1)), mul(2, 261888))
    let positive := gt(w, mul(high, mul(2, 261888)))
    if eq(high, 16) { high := 0 positive := 0 }
    if hinted {
        switch positive
        case 0 { high := mod(add(high, sub(16, 1)), 16) }
        default { high := mod(add(high, 1), 16) }
    }
}
// algorithm 30 RejNTTPoly
function expand(s, r) {
    calldatacopy(81920, 0, 32)
    mstore8(add(81920, 32), s)
    mstore8(add(81920, 33), r)
    shake(81920, 34, 168)
    let j := 0
    let n := 0
    for {} lt(j, 256) {} {
        if eq(n, 168) { keccakf() n := 0 }
        let a := or(or(statebyte(n), shl(8, statebyte(add(n, 1)))), shl(16, and(0x7f, statebyte(add(n, 2)))))
        n := add(n, 3)
        if lt(a, 8380417) { mstore(add(65536, mul(32, j)), a) j := add(j, 1) }
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
                let t := mulmod(mload(add(4096, mul(32, m))), mload(y), 8380417)
                mstore(y, addmod(mload(x), sub(8380417, t), 8380417))
                mstore(x, addmod(mload(x), t, 8380417))
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
                mstore(x, addmod(t, mload(y), 8380417))
                mstore(y, mulmod(sub(8380417, mload(add(4096, mul(32, m)))), addmod(t, sub(8380417, mload(y)), 8380417), 8380417))
            }
        }
    }
    for { let j := 0 } lt(j, 8192) { j := add(j, 32) } { mstore(add(w, j), mulmod(mload(add(w, j)), 8347681, 8380417)) }
}
function lane(x, y) -> at { at := add(256, mul(32, add(mod(x, 5), mul(5, mod(y, 5))))) }
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
        mstore(256, xor(mload(256), mload(add(2048, mul(32, round)))))
    }
}
function absorbbyte(i, b) {
    let at := add(256, mul(32, shr(3, i)))
    mstore(at, xor(mload(at), shl(mul(8, and(i, 7)), b)))
}
function statebyte(i) -> b { b := and(0xff, shr(mul(8, and(i, 7)), mload(add(256, mul(32, shr(3, i)))))) }
// SHAKE of len bytes at from, the first block ready
function shake(from, len, rate) {
    for { let i := 0 } lt(i, 800) { i := add(i, 32) } { mstore(add(256, i), 0) }
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
function fail() { mstore(0, 0) return(0, 32) }
        }
    }
}
