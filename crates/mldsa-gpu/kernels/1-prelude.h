// Verification of ML-DSA (FIPS 204, algorithms 3 and 8) for many signatures at once.
// The files of this folder, joined in the order of their names, are one translation unit in the
// common subset of OpenCL C 1.2 and CUDA C, compiled once for each parameter set with
// -D SET=44, 65 or 87. `ptx.sh` makes PTX of it with clang; an OpenCL driver compiles the text.
//
// Every pointer carries GLOBAL or LOCAL, which CUDA leaves empty. Helpers are always inlined and
// their arrays have constant indices, so that the arrays are registers.

#ifdef __CUDA__ // clang, without NVIDIA's headers
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long i64;
#define DEV static __attribute__((device, always_inline)) inline
#define KERNEL(threads, groups) \
    extern "C" __attribute__((global)) __attribute__((launch_bounds(threads, groups))) void
#define GLOBAL
#define LOCAL
#define SHARED __attribute__((shared)) static
#define TABLE static __attribute__((constant)) const
#define THREAD ((u32)__nvvm_read_ptx_sreg_tid_x())
#define GROUP ((u32)__nvvm_read_ptx_sreg_ctaid_x())
// A team is a warp, and four teams are a group: nothing waits for another team.
#define TEAMS 4
#define SYNC() __nvvm_bar_warp_sync(0xffffffffu)
#define VOTE(b) __nvvm_vote_any_sync(0xffffffffu, (b))
#define ATOMIC_OR(p, v) __atomic_fetch_or((p), (v), __ATOMIC_RELAXED)
// The builtin is one instruction; the same in C costs 30 per cent more of them.
#define MULHI(a, b) __nvvm_mulhi_i((a), (b))
#else // OpenCL C 1.2
typedef uchar u8;
typedef ushort u16;
typedef uint u32;
typedef ulong u64;
typedef long i64;
#define DEV static inline __attribute__((always_inline))
#define KERNEL(threads, groups) __kernel __attribute__((reqd_work_group_size(threads, 1, 1))) void
#define GLOBAL __global
#define LOCAL __local
#define SHARED __local
#define TABLE __constant
#define THREAD ((u32)get_local_id(0))
#define GROUP ((u32)get_group_id(0))
// A team is a whole group, so that the barrier of a group is the team's.
#define TEAMS 1
#define SYNC() barrier(CLK_LOCAL_MEM_FENCE)
#define ATOMIC_OR(p, v) atomic_or((volatile __local u32 *)(p), (v))
#define MULHI(a, b) mul_hi((int)(a), (int)(b))
#endif

#ifdef SMALL // A CPU: full unrolling takes its compiler minutes and gains nothing.
#define UNROLL
#else
#define UNROLL _Pragma("unroll")
#endif
#define ROLLED _Pragma("unroll 1")

#ifdef __CUDA__ // Two funnel shifts of 32 bits.
DEV u64 rotl64(u64 v, u32 n) {
    const u32 lo = (u32)v, hi = (u32)(v >> 32), m = n & 31;
    const u32 a = n < 32 ? lo : hi, b = n < 32 ? hi : lo;
    if (m == 0) return (u64)b << 32 | a;
    return (u64)(b << m | a >> (32 - m)) << 32 | (a << m | b >> (32 - m));
}
#else
#define rotl64(v, n) rotate((u64)(v), (u64)(n))
#endif

// Table 1 of FIPS 204, and lengths in bytes: c~, z of one polynomial, w1 of one polynomial.
#if SET == 44
enum { K = 4, L = 4, TAU = 39, Z_BITS = 18, BETA = 78, OMEGA = 80, C_TILDE = 32, W1_POLY = 192 };
#elif SET == 65
enum { K = 6, L = 5, TAU = 49, Z_BITS = 20, BETA = 196, OMEGA = 55, C_TILDE = 48, W1_POLY = 128 };
#elif SET == 87
enum { K = 8, L = 7, TAU = 60, Z_BITS = 20, BETA = 120, OMEGA = 75, C_TILDE = 64, W1_POLY = 128 };
#else
#error "SET is 44, 65 or 87"
#endif
// Groups of four teams that have to fit on a multiprocessor, which bounds the registers of a
// thread to 168, 255 and 128. Measured; the gate on registers watches them.
#if SET == 87
#define GROUPS_PREPARED 1
#else
#define GROUPS_PREPARED 3
#endif
#define GROUPS_ENCODED 4

enum {
    Q = 8380417,
    QINV = 58728449, // q^-1 mod 2^32
    GAMMA1 = 1 << (Z_BITS - 1),
    Z_POLY = 32 * Z_BITS,
    HINT = C_TILDE + L * Z_POLY,
    PK = 32 + 320 * K,
    W1 = K * W1_POLY,
    // A slot of a batch: the signature filled up to a multiple of 16, then four words: index of
    // the key, distance of the message from the first slot in words of 8 bytes, its length in
    // bytes or MU_GIVEN, 0. In batches with keys the encoded key follows.
    META = (HINT + OMEGA + K + 15) / 16 * 16,
    SLOT = META + 16,
    // Words of 8 bytes: five blocks of SHAKE128 and a prepared key.
    RAW = 105,
    KEY = K * (L + 1) * 96
};
#define MU_GIVEN 0xffffffffu
// Verdicts differ from each other, from 0, from 0xff and from the host's filling 0xaa in four
// bits or more. CPU: five blocks of SHAKE128 have not sufficed (25 rejections among 280
// candidates, probability about 2^-130).
enum { VALID = 0xc5, BAD_HINT = 0x1e, BAD_NORM = 0x2d, MISMATCH = 0xb4, CPU = 0x4b, PENDING = 0x78 };
