// Keccak-f[1600] and the hashes of verification: one thread has one state, in 50 registers.

TABLE u64 ROUND_CONSTANTS[24] = {
    0x0000000000000001, 0x0000000000008082, 0x800000000000808a, 0x8000000080008000,
    0x000000000000808b, 0x0000000080000001, 0x8000000080008081, 0x8000000000008009,
    0x000000000000008a, 0x0000000000000088, 0x0000000080008009, 0x000000008000000a,
    0x000000008000808b, 0x800000000000008b, 0x8000000000008089, 0x8000000000008003,
    0x8000000000008002, 0x8000000000000080, 0x000000000000800a, 0x800000008000000a,
    0x8000000080008081, 0x8000000000008080, 0x0000000080000001, 0x8000000080008008};
#define LAST_BIT 0x8000000000000000

// The column x of theta, and rho: lane i of column x, rotated. Three operands of a XOR are one
// instruction on a GPU, so the sums of theta are not made beforehand.
#define COLUMN(x) (a[x] ^ a[x + 5] ^ a[x + 10] ^ a[x + 15] ^ a[x + 20])
#define MOVED(i, left, right, n) rotl64(a[i] ^ left ^ right, n)
#define CHI(row, v, w, x, y, z) \
    a[row] = v ^ (~w & x); \
    a[row + 1] = w ^ (~x & y); \
    a[row + 2] = x ^ (~y & z); \
    a[row + 3] = y ^ (~z & v); \
    a[row + 4] = z ^ (~v & w);

DEV void keccak(u64 *a) {
    ROLLED for (int round = 0; round < 24; ++round) {
        const u64 c0 = COLUMN(0), c1 = COLUMN(1), c2 = COLUMN(2), c3 = COLUMN(3), c4 = COLUMN(4);
        const u64 r0 = rotl64(c0, 1), r1 = rotl64(c1, 1), r2 = rotl64(c2, 1);
        const u64 r3 = rotl64(c3, 1), r4 = rotl64(c4, 1);
        const u64 b00 = a[0] ^ c4 ^ r1;
        const u64 b01 = MOVED(6, c0, r2, 44), b02 = MOVED(12, c1, r3, 43);
        const u64 b03 = MOVED(18, c2, r4, 21), b04 = MOVED(24, c3, r0, 14);
        const u64 b05 = MOVED(3, c2, r4, 28), b06 = MOVED(9, c3, r0, 20), b07 = MOVED(10, c4, r1, 3);
        const u64 b08 = MOVED(16, c0, r2, 45), b09 = MOVED(22, c1, r3, 61);
        const u64 b10 = MOVED(1, c0, r2, 1), b11 = MOVED(7, c1, r3, 6), b12 = MOVED(13, c2, r4, 25);
        const u64 b13 = MOVED(19, c3, r0, 8), b14 = MOVED(20, c4, r1, 18);
        const u64 b15 = MOVED(4, c3, r0, 27), b16 = MOVED(5, c4, r1, 36), b17 = MOVED(11, c0, r2, 10);
        const u64 b18 = MOVED(17, c1, r3, 15), b19 = MOVED(23, c2, r4, 56);
        const u64 b20 = MOVED(2, c1, r3, 62), b21 = MOVED(8, c2, r4, 55), b22 = MOVED(14, c3, r0, 39);
        const u64 b23 = MOVED(15, c4, r1, 41), b24 = MOVED(21, c0, r2, 2);
        CHI(0, b00, b01, b02, b03, b04)
        CHI(5, b05, b06, b07, b08, b09)
        CHI(10, b10, b11, b12, b13, b14)
        CHI(15, b15, b16, b17, b18, b19)
        CHI(20, b20, b21, b22, b23, b24)
        a[0] ^= ROUND_CONSTANTS[round];
    }
}

DEV void clear(u64 *a, int from) {
    UNROLL for (int i = 0; i < 25; ++i)
        if (i >= from) a[i] = 0;
}

// tr = H(pk, 64) in the first eight words of the state.
DEV void hash_key(GLOBAL const u64 *pk, u64 *a) {
    enum { WORDS = PK / 8, BLOCKS = PK / 136 + 1 };
    clear(a, 0);
    ROLLED for (int block = 0; block < BLOCKS; ++block) {
        UNROLL for (int w = 0; w < 17; ++w) {
            const int i = block * 17 + w;
            if (i < WORDS) a[w] ^= pk[i];
            else if (i == WORDS) a[w] ^= 0x1f;
        }
        if (block == BLOCKS - 1) a[16] ^= LAST_BIT;
        keccak(a);
    }
}

// mu = H(tr || M', 64): tr is in the first eight words of the state, and mu afterwards. M' has
// `len` bytes, and zeros or anything else up to a multiple of eight.
DEV void hash_message(GLOBAL const u64 *message, u32 len, u64 *a) {
    const u32 last = (64 + len) / 136;
    clear(a, 8);
    ROLLED for (u32 block = 0; block <= last; ++block) {
        UNROLL for (int w = 0; w < 17; ++w) {
            if (w >= 8 || block != 0) {
                const int i = (int)(block * 17) + w - 8, left = (int)len - 8 * i;
                if (left >= 8) a[w] ^= message[i];
                else if (left > 0)
                    a[w] ^= (message[i] & (((u64)1 << 8 * left) - 1)) | (u64)0x1f << 8 * left;
                else if (left == 0) a[w] ^= 0x1f;
            }
        }
        if (block == last) a[16] ^= LAST_BIT;
        keccak(a);
    }
}

// SampleInBall (algorithm 29). Two bitmaps of 256 bits in local memory, word w of this thread at
// w * STRIDE: coefficients that are not 0 (words 0 to 7) and those that are -1 (8 to 15).
#define STRIDE 64
DEV u32 bit_of(LOCAL const u32 *map, int i) { return map[(i >> 5) * STRIDE] >> (i & 31) & 1; }
DEV void set_bit(LOCAL u32 *map, int i, u32 bit) {
    const u32 old = map[(i >> 5) * STRIDE];
    map[(i >> 5) * STRIDE] = (old & ~(1u << (i & 31))) | bit << (i & 31);
}
DEV void sample_in_ball(GLOBAL const u64 *c_tilde, LOCAL u32 *nonzero) {
    LOCAL u32 *negative = nonzero + 8 * STRIDE;
    u64 a[25];
    clear(a, 0);
    UNROLL for (int w = 0; w < C_TILDE / 8; ++w) a[w] = c_tilde[w];
    a[C_TILDE / 8] = 0x1f;
    a[16] = LAST_BIT;
    keccak(a);
    UNROLL for (int w = 0; w < 16; ++w) nonzero[w * STRIDE] = 0;
    u64 signs = a[0];
    int i = 256 - TAU, first = 1; // The first word of the first block is the signs.
    while (i < 256) {
        UNROLL for (int w = 0; w < 17; ++w) {
            if (w >= first) {
                u64 bytes = a[w];
                ROLLED for (int n = 0; n < 8 && i < 256; ++n, bytes >>= 8) {
                    const int j = (int)(bytes & 255);
                    if (j > i) continue;
                    set_bit(nonzero, i, bit_of(nonzero, j));
                    set_bit(negative, i, bit_of(negative, j));
                    set_bit(nonzero, j, 1);
                    set_bit(negative, j, (u32)(signs & 1));
                    signs >>= 1;
                    ++i;
                }
            }
        }
        if (i < 256) keccak(a);
        first = 0;
    }
}
