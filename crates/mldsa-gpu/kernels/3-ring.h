// Z_q and its polynomials: one team of 32 threads has one polynomial, eight coefficients a
// thread. Bounds are of absolute values, with q = 2^23 - 2^13 + 1.

typedef struct {
    int exchange[8 * 36]; // Coefficient n of a transform at n + 4 (n / 32): no bank has two.
    u32 kept[256];        // A polynomial whose rejected candidates are left out.
    u32 hint[64];         // A bitmap of 8 words for each row.
    u32 w1[64];
    u32 encoded[24];      // The hint as the signature has it.
    u32 counts[8];
    u32 flags[2];
} Memory;

typedef struct {
    u32 thread, round;
    LOCAL Memory *memory;
    GLOBAL const int *zetas;
} Team;

DEV Team team_of(LOCAL Memory *memory, GLOBAL const int *zetas) {
    Team team;
    team.thread = THREAD & 31;
    team.round = 0;
    team.memory = memory;
    team.zetas = zetas;
#ifndef VOTE
    if (team.thread < 2) memory->flags[team.thread] = 0;
    SYNC();
#endif
    return team;
}

// Whether `b` holds in any thread of the team, which gets one answer. Without votes two flags
// take turns: the barrier of a round separates the reads of the last from the writes of the next.
DEV int any(Team *team, int b) {
#ifdef VOTE
    return VOTE(b);
#else
    const u32 round = ++team->round;
    if (b) team->memory->flags[round & 1] = round;
    SYNC();
    return team->memory->flags[round & 1] == round;
#endif
}

// p 2^-32 mod q for |p| < 2^31 q. The low words of p and m q are equal, so the difference of the
// high words is exact: |result| <= |p| / 2^32 + q / 2.
DEV int montgomery(i64 p) {
    const int m = (int)((u32)p * (u32)QINV);
    return (int)(p >> 32) - MULHI(m, Q);
}
// A zeta has at most q / 2 < 2^22, so |result| <= |b| / 2^10 + q / 2 for each b of 32 bits.
DEV int times(int zeta, int b) { return montgomery((i64)zeta * b); }

// Up to three layers on the eight coefficients of a thread, from layer `first` of the three.
// `node` says where in the tree of zetas the thread stands.
DEV void butterflies(int *x, GLOBAL const int *zetas, u32 node, int first) {
    UNROLL for (int layer = 0; layer < 3; ++layer) {
        const int reach = 4 >> layer, blocks = 1 << layer;
        if (layer >= first) {
            UNROLL for (int c = 0; c < blocks; ++c) {
                const int zeta = zetas[blocks * node + c];
                UNROLL for (int i = 0; i < reach; ++i) {
                    const int low = 2 * reach * c + i, t = times(zeta, x[low + reach]);
                    x[low + reach] = x[low] - t;
                    x[low] += t;
                }
            }
        }
    }
}
// The inverse of these, the last layer first, without the factors of 1/2.
DEV void inverse_butterflies(int *x, GLOBAL const int *zetas, u32 node, int first) {
    UNROLL for (int layer = 2; layer >= 0; --layer) {
        const int reach = 4 >> layer, blocks = 1 << layer;
        if (layer >= first) {
            UNROLL for (int c = 0; c < blocks; ++c) {
                const int zeta = zetas[blocks * node - 1 - c];
                UNROLL for (int i = 0; i < reach; ++i) {
                    const int low = 2 * reach * c + i, t = x[low];
                    x[low] = t + x[low + reach];
                    x[low + reach] = times(zeta, x[low + reach] - t);
                }
            }
        }
    }
}

// Where coefficient j of a thread lies between the layers: far apart at t + 32 j, then near, then
// neighbours at 8 t + j.
#define FAR(j) (t + 36 * (j))
#define NEAR(j) (36 * (t >> 2) + (t & 3) + 4 * (j))
#define NEXT(j) (36 * (t >> 2) + 8 * (t & 3) + (j))

// NTT (algorithm 41), t + 32 j in and 8 t + j out. A layer adds at most |b| / 2^10 + q / 2 to
// |b| <= q, and eight of them at most 4.1 q: |out| <= |in| + 4.1 q.
DEV void ntt(const Team *team, int *x) {
    const u32 t = team->thread;
    LOCAL int *s = team->memory->exchange;
    butterflies(x, team->zetas, 1, 0);
    UNROLL for (int j = 0; j < 8; ++j) s[FAR(j)] = x[j];
    SYNC();
    UNROLL for (int j = 0; j < 8; ++j) x[j] = s[NEAR(j)];
    butterflies(x, team->zetas, 8 + (t >> 2), 0);
    UNROLL for (int j = 0; j < 8; ++j) s[NEAR(j)] = x[j];
    SYNC();
    UNROLL for (int j = 0; j < 8; ++j) x[j] = s[NEXT(j)];
    butterflies(x, team->zetas, 32 + t, 1);
    SYNC();
}
// The inverse (algorithm 42) times 2^32, 8 t + j in and t + 32 j out. Sums double in each layer:
// for |in| < 0.75 q they and the differences are below 192 q < 2^31. |out| <= q / 2 + 2 q / 2^10.
DEV void inverse_ntt(const Team *team, int *x) {
    enum { SCALE = 41978 }; // 2^64 / 256 mod q
    const u32 t = team->thread;
    LOCAL int *s = team->memory->exchange;
    inverse_butterflies(x, team->zetas, 64 - t, 1);
    UNROLL for (int j = 0; j < 8; ++j) s[NEXT(j)] = x[j];
    SYNC();
    UNROLL for (int j = 0; j < 8; ++j) x[j] = s[NEAR(j)];
    inverse_butterflies(x, team->zetas, 16 - (t >> 2), 0);
    UNROLL for (int j = 0; j < 8; ++j) s[NEAR(j)] = x[j];
    SYNC();
    UNROLL for (int j = 0; j < 8; ++j) x[j] = s[FAR(j)];
    inverse_butterflies(x, team->zetas, 2, 0);
    UNROLL for (int j = 0; j < 8; ++j) x[j] = times(SCALE, x[j]);
    SYNC();
}

// Eight numbers of 23 bits, three bytes each, as RejNTTPoly reads them.
DEV void unpack24(u64 w0, u64 w1, u64 w2, u32 *c) {
    const u32 mask = 0x7fffff;
    c[0] = (u32)w0 & mask;
    c[1] = (u32)(w0 >> 24) & mask;
    c[2] = ((u32)(w0 >> 48) | (u32)w1 << 16) & mask;
    c[3] = (u32)(w1 >> 8) & mask;
    c[4] = (u32)(w1 >> 32) & mask;
    c[5] = ((u32)(w1 >> 56) | (u32)w2 << 8) & mask;
    c[6] = (u32)(w2 >> 16) & mask;
    c[7] = (u32)(w2 >> 40) & mask;
}

// RejNTTPoly (algorithm 30) from five blocks of SHAKE128: coefficients 8 t + j, all below q.
// Returns 0 in one thread if the blocks do not suffice.
DEV int rejection(Team *team, GLOBAL const u64 *raw, u32 *c) {
    const u32 t = team->thread;
    LOCAL Memory *s = team->memory;
    u32 count = 0, place = 0, total = 0;
    unpack24(raw[3 * t], raw[3 * t + 1], raw[3 * t + 2], c);
    UNROLL for (int j = 0; j < 8; ++j) count += c[j] < Q;
    if (!any(team, count != 8)) return 1;
    // Counts of the threads before this one, four in a word.
    ((LOCAL u8 *)s->counts)[t] = (u8)count;
    SYNC();
    UNROLL for (u32 w = 0; w < 8; ++w) {
        const u32 four = s->counts[w], sum = four * 0x01010101u >> 24;
        const u32 before = (four & ((1u << 8 * (t & 3)) - 1)) * 0x01010101u >> 24;
        total += sum;
        place += w < t >> 2 ? sum : w == t >> 2 ? before : 0;
    }
    UNROLL for (int j = 0; j < 8; ++j)
        if (c[j] < Q) s->kept[place++] = c[j];
    // The candidates beyond the first 256, which are 24.
    if (t == 0) {
        ROLLED for (int e = 0; e < 3 && total < 256; ++e) {
            u32 more[8];
            unpack24(raw[96 + 3 * e], raw[97 + 3 * e], raw[98 + 3 * e], more);
            UNROLL for (int j = 0; j < 8; ++j)
                if (more[j] < Q && total < 256) s->kept[total++] = more[j];
        }
    }
    SYNC();
    UNROLL for (int j = 0; j < 8; ++j) c[j] = s->kept[8 * t + j];
    SYNC();
    return t != 0 || total >= 256;
}

// t1 2^13 (SimpleBitUnpack, algorithm 18), coefficients t + 32 j, below 2^23.
DEV void unpack_t1(u32 t, GLOBAL const u32 *t1, int *x) {
    UNROLL for (int j = 0; j < 8; ++j) {
        const u32 bit = 10 * (t + 32 * j), w = bit >> 5, shift = bit & 31;
        u32 v = t1[w] >> shift;
        if (shift > 22) v |= t1[w + 1] << (32 - shift);
        x[j] = (int)((v & 1023) << 13);
    }
}
