// w'1 of one signature, by one team.

// UseHint (algorithm 40) for r in 0..q.
DEV u32 use_hint(int r, u32 hint) {
#if SET == 44
    enum { HALF_RANGE = (Q - 1) / 88, LAST = 43 };
    int high = (((r + 127) >> 7) * 11275 + (1 << 23)) >> 24;
#else
    enum { HALF_RANGE = (Q - 1) / 32, LAST = 15 };
    int high = (((r + 127) >> 7) * 1025 + (1 << 21)) >> 22;
#endif
    high = high > LAST ? 0 : high; // The wrap of Decompose (algorithm 36).
    int low = r - high * 2 * HALF_RANGE;
    low -= low > (Q - 1) / 2 ? Q : 0;
    if (!hint) return (u32)high;
    if (low > 0) return (u32)(high == LAST ? 0 : high + 1);
    return (u32)(high == 0 ? LAST : high - 1);
}

// HintBitUnpack (algorithm 21) into bitmaps, every position at once: a position finds its row
// among the K counters and compares itself with the one before it. 0 unless the encoding is the
// canonical one.
DEV int unpack_hint(Team *team, GLOBAL const u8 *encoded) {
    LOCAL Memory *s = team->memory;
    LOCAL u8 *y = (LOCAL u8 *)s->encoded;
    const int t = (int)team->thread;
    int bad = 0;
    for (int p = t; p < OMEGA + K; p += 32) y[p] = encoded[p];
    for (int p = t; p < 8 * K; p += 32) s->hint[p] = 0;
    SYNC();
    if (t < K) {
        const int end = y[OMEGA + t], start = t ? y[OMEGA + t - 1] : 0;
        bad |= end < start || end > OMEGA;
    }
    for (int p = t; p < OMEGA; p += 32) {
        const u32 v = y[p];
        int row = 0, start = 0;
        UNROLL for (int i = 0; i < K; ++i) {
            const int end = y[OMEGA + i];
            if (end <= p) {
                row = i + 1;
                start = end;
            }
        }
        if (row == K) {
            bad |= v != 0; // Behind the last row there are zeros.
        } else {
            if (p > start) bad |= y[p - 1] >= v;
            ATOMIC_OR(&s->hint[row * 8 + (v >> 5)], 1u << (v & 31));
        }
    }
    SYNC();
    return !any(team, bad);
}

// z (algorithm 19), coefficients t + 32 j of each polynomial. 1 in a thread with a coefficient of
// gamma1 - beta or more.
DEV int unpack_z(u32 t, GLOBAL const u8 *packed, int *z) {
    enum { BOUND = GAMMA1 - BETA - 1 };
    int bad = 0;
    UNROLL for (int i = 0; i < L; ++i) {
        GLOBAL const u32 *words = (GLOBAL const u32 *)(packed + i * Z_POLY);
        UNROLL for (int j = 0; j < 8; ++j) {
            const u32 bit = Z_BITS * (t + 32 * j), w = bit >> 5, shift = bit & 31;
            // One word beyond the last polynomial is the hint.
            const u64 v = words[w] | (u64)words[w + 1] << 32;
            const int x = GAMMA1 - (int)((u32)(v >> shift) & ((1u << Z_BITS) - 1));
            bad |= (u32)(x + BOUND) > 2u * BOUND;
            z[8 * i + j] = x;
        }
    }
    return bad;
}

// w1Encode (algorithm 28) of one polynomial from a byte for each coefficient: eight neighbours.
DEV void pack_w1(u32 t, LOCAL const u32 *w1, GLOBAL u8 *out) {
    const u32 a = w1[2 * t], b = w1[2 * t + 1];
#if SET == 44
    const u32 lo = (a & 63) | (a >> 8 & 63) << 6 | (a >> 16 & 63) << 12 | (a >> 24) << 18;
    const u32 hi = (b & 63) | (b >> 8 & 63) << 6 | (b >> 16 & 63) << 12 | (b >> 24) << 18;
    GLOBAL u16 *to = (GLOBAL u16 *)(out + 6 * t);
    to[0] = (u16)lo;
    to[1] = (u16)(lo >> 16 | hi << 8);
    to[2] = (u16)(hi >> 8);
#else
    const u32 lo = (a & 15) | (a >> 8 & 15) << 4 | (a >> 16 & 15) << 8 | (a >> 24) << 12;
    const u32 hi = (b & 15) | (b >> 8 & 15) << 4 | (b >> 16 & 15) << 8 | (b >> 24) << 12;
    ((GLOBAL u32 *)out)[t] = lo | hi << 16;
#endif
}

// Steps of algorithm 8 up to w'1, in the order of the CPU: the hint, the norm of z, then w1. The
// verdict is PENDING if the hash decides. `key` is a prepared key; if `pk` is not null, `key` is
// the raw polynomials of this item and `pk` its encoded key.
DEV void lattice(int encoded, Team *team, GLOBAL const u8 *signature, GLOBAL const u32 *c_bits,
                 GLOBAL const u64 *key, GLOBAL const u8 *pk, GLOBAL u8 *w1, GLOBAL u8 *verdict) {
    const u32 t = team->thread;
    LOCAL Memory *s = team->memory;
    int z[L * 8], c[8], enough = 1;
    if (!unpack_hint(team, signature + HINT)) {
        if (t == 0) *verdict = BAD_HINT;
        return;
    }
    if (any(team, unpack_z(t, signature + C_TILDE, z))) {
        if (t == 0) *verdict = BAD_NORM;
        return;
    }
    // |z| < 2^19, so |NTT(z)| < 4.2 q; |NTT(c)| < 4.2 q.
    UNROLL for (int j = 0; j < L; ++j) ntt(team, z + 8 * j);
    UNROLL for (int n = 0; n < 8; ++n)
        c[n] = (int)(c_bits[n] >> t & 1) - 2 * (int)(c_bits[8 + n] >> t & 1);
    ntt(team, c);
    ROLLED for (int i = 0; i < K; ++i) {
        i64 sum[8];
        int x[8];
        u32 v[8];
        // Minus c t1 2^13: below q 4.2 q prepared, below 5.1 q 4.2 q encoded.
        if (encoded) {
            unpack_t1(t, (GLOBAL const u32 *)(pk + 32 + 320 * i), x);
            ntt(team, x);
            UNROLL for (int n = 0; n < 8; ++n) sum[n] = -((i64)x[n] * c[n]);
        } else {
            GLOBAL const u64 *o = key + (i * (L + 1) + L) * 96;
            unpack24(o[t], o[32 + t], o[64 + t], v);
            UNROLL for (int n = 0; n < 8; ++n) sum[n] = (i64)(int)v[n] * c[n];
        }
        // Each product is below q 4.2 q: at most 7 4.2 q^2 + 21.5 q^2 < 51 q^2 < 2^52.
        UNROLL for (int j = 0; j < L; ++j) {
            if (encoded) {
                enough &= rejection(team, key + (i * L + j) * RAW, v);
            } else {
                GLOBAL const u64 *o = key + (i * (L + 1) + j) * 96;
                unpack24(o[t], o[32 + t], o[64 + t], v);
            }
            UNROLL for (int n = 0; n < 8; ++n) sum[n] += (i64)(int)v[n] * z[8 * j + n];
        }
        // 51 q^2 / 2^32 + q / 2 < 0.6 q.
        UNROLL for (int n = 0; n < 8; ++n) x[n] = montgomery(sum[n]);
        inverse_ntt(team, x);
        UNROLL for (int n = 0; n < 8; ++n) {
            const int r = x[n] + ((x[n] >> 31) & Q);
            const u32 hint = s->hint[8 * i + n] >> t & 1;
            ((LOCAL u8 *)s->w1)[t + 32 * n] = (u8)use_hint(r, hint);
        }
        SYNC();
        pack_w1(t, s->w1, w1 + i * W1_POLY);
        SYNC();
    }
    // Only the first thread knows of candidates that ran out.
    if (t == 0) *verdict = enough ? PENDING : CPU;
}
