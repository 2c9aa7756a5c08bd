// The kernels. `in` is the block of a batch: messages end at `bound`, where slots of `stride`
// bytes begin. A slot longer than SLOT has its key; the keys of the others are in a table.

DEV GLOBAL const u8 *slot_of(GLOBAL const u8 *in, u32 bound, u32 stride, u32 i) {
    return in + bound + (u64)i * stride;
}
DEV u32 meta_of(GLOBAL const u8 *slot, u32 n) { return ((GLOBAL const u32 *)(slot + META))[n]; }
DEV GLOBAL const u8 *key_of(GLOBAL const u8 *slot, u32 stride, GLOBAL const u8 *table) {
    return stride > SLOT ? slot + SLOT : table + (u64)meta_of(slot, 0) * PK;
}

// mu and the challenge, a thread for an item. `trs` are those of the table of keys.
KERNEL(64, 10) messages(u32 n, GLOBAL const u8 *in, u32 bound, u32 stride, GLOBAL const u64 *trs,
                        GLOBAL u64 *mu, GLOBAL u32 *c_bits) {
    SHARED u32 maps[16 * STRIDE];
    const u32 i = GROUP * 64 + THREAD;
    if (i >= n) return;
    GLOBAL const u8 *slot = slot_of(in, bound, stride, i);
    GLOBAL const u64 *message = (GLOBAL const u64 *)(in + bound) - meta_of(slot, 1);
    GLOBAL u64 *out = mu + (u64)i * 8;
    const u32 len = meta_of(slot, 2);
    if (len == MU_GIVEN) {
        UNROLL for (int w = 0; w < 8; ++w) out[w] = message[w];
    } else {
        u64 a[25];
        if (stride > SLOT) {
            hash_key((GLOBAL const u64 *)(slot + SLOT), a);
        } else {
            UNROLL for (int w = 0; w < 8; ++w) a[w] = trs[(u64)meta_of(slot, 0) * 8 + w];
        }
        hash_message(message, len, a);
        UNROLL for (int w = 0; w < 8; ++w) out[w] = a[w];
    }
    LOCAL u32 *map = maps + THREAD;
    sample_in_ball((GLOBAL const u64 *)slot, map);
    UNROLL for (int w = 0; w < 16; ++w) c_bits[(u64)i * 16 + w] = map[w * STRIDE];
}

// ExpandA (algorithm 32) up to the rejection, a thread for a polynomial: five blocks of SHAKE128
// of polynomials 0..total, of items from `first` on or, if stride is 0, of keys of the table.
// Blocks go through local memory, so that the stores of a group are contiguous.
KERNEL(32, 20) expand(u32 first, u32 total, GLOBAL const u8 *in, u32 bound, u32 stride,
                      GLOBAL const u8 *table, GLOBAL u64 *raw) {
    SHARED u64 stage[32 * 21];
    const u32 t = THREAD, begin = GROUP * 32, p = begin + t < total ? begin + t : total - 1;
    const u32 item = first + p / (K * L), entry = p % (K * L);
    GLOBAL const u64 *rho = (GLOBAL const u64 *)(stride == 0
        ? table + (u64)item * PK : key_of(slot_of(in, bound, stride, item), stride, table));
    GLOBAL u64 *out = raw + (u64)begin * RAW;
    u64 a[25];
    clear(a, 0);
    UNROLL for (int w = 0; w < 4; ++w) a[w] = rho[w];
    a[4] = entry % L | (entry / L) << 8 | 0x1f0000;
    a[20] = LAST_BIT;
    ROLLED for (int block = 0; block < 5; ++block, out += 21) {
        keccak(a);
        UNROLL for (int w = 0; w < 21; ++w) stage[t * 21 + w] = a[w];
        SYNC();
        // Unrolled, the addresses alone take 60 registers.
        ROLLED for (u32 w = t; w < 32 * 21; w += 32) {
            const u32 owner = w / 21;
            if (begin + owner < total) out[w + (RAW - 21) * owner] = stage[w];
        }
        SYNC();
    }
}

// One row of a key, a team for a row: A and NTT(-t1 2^13) with 24 bits for a coefficient, three
// planes of a word for each thread. Rows of keys 0..n of the raw polynomials and of `table` go to
// keys from `first` on. `failed` is set if five blocks do not suffice for a key.
KERNEL(32, 1) prepare(u32 first, GLOBAL const u64 *raw, GLOBAL const u8 *table, GLOBAL u64 *keys,
                      GLOBAL u32 *failed, GLOBAL const int *zetas) {
    SHARED Memory memory;
    Team team = team_of(&memory, zetas);
    const u32 key = GROUP / K, row = GROUP % K, t = team.thread;
    GLOBAL u64 *out = keys + (u64)(first + key) * KEY + row * (L + 1) * 96;
    ROLLED for (int j = 0; j <= L; ++j, out += 96) {
        u32 c[8];
        if (j < L) {
            if (!rejection(&team, raw + ((u64)GROUP * L + j) * RAW, c)) *failed = 1;
        } else {
            int x[8];
            unpack_t1(t, (GLOBAL const u32 *)(table + (u64)key * PK + 32 + 320 * row), x);
            ntt(&team, x);
            // |x| < 5.1 q < 2^26: one approximate quotient, then one conditional addition.
            UNROLL for (int n = 0; n < 8; ++n) {
                const int r = -x[n] - ((-x[n] + (1 << 22)) >> 23) * Q;
                c[n] = (u32)(r + ((r >> 31) & Q));
            }
        }
        out[t] = c[0] | (u64)c[1] << 24 | (u64)c[2] << 48;
        out[32 + t] = c[2] >> 16 | (u64)c[3] << 8 | (u64)c[4] << 32 | (u64)c[5] << 56;
        out[64 + t] = c[5] >> 8 | (u64)c[6] << 16 | (u64)c[7] << 40;
    }
}

KERNEL(32 * TEAMS, GROUPS_PREPARED) lattice_prepared(
    u32 n, GLOBAL const u8 *in, u32 bound, u32 stride, GLOBAL const u64 *keys,
    GLOBAL const u32 *c_bits, GLOBAL u8 *w1, GLOBAL u8 *verdicts, GLOBAL const int *zetas) {
    SHARED Memory memory[TEAMS];
    const u32 i = GROUP * TEAMS + (THREAD >> 5);
    if (i >= n) return;
    GLOBAL const u8 *slot = slot_of(in, bound, stride, i);
    Team team = team_of(&memory[THREAD >> 5], zetas);
    lattice(0, &team, slot, c_bits + (u64)i * 16, keys + (u64)meta_of(slot, 0) * KEY, slot,
            w1 + (u64)i * W1, verdicts + i);
}

// Items first..first + n, whose raw polynomials are those of 0..n.
KERNEL(32 * TEAMS, GROUPS_ENCODED) lattice_encoded(
    u32 first, u32 n, GLOBAL const u8 *in, u32 bound, u32 stride, GLOBAL const u8 *table,
    GLOBAL const u64 *raw, GLOBAL const u32 *c_bits, GLOBAL u8 *w1, GLOBAL u8 *verdicts,
    GLOBAL const int *zetas) {
    SHARED Memory memory[TEAMS];
    const u32 at = GROUP * TEAMS + (THREAD >> 5), i = first + at;
    if (at >= n) return;
    GLOBAL const u8 *slot = slot_of(in, bound, stride, i);
    Team team = team_of(&memory[THREAD >> 5], zetas);
    lattice(1, &team, slot, c_bits + (u64)i * 16, raw + (u64)at * (K * L * RAW),
            key_of(slot, stride, table), w1 + (u64)i * W1, verdicts + i);
}

// c~ against H(mu || w1) of items that are pending, a thread for an item.
KERNEL(64, 10) challenges(u32 n, GLOBAL const u8 *in, u32 bound, u32 stride, GLOBAL const u64 *mu,
                          GLOBAL const u8 *w1, GLOBAL u8 *verdicts) {
    enum { WORDS = 8 + W1 / 8, BLOCKS = WORDS / 17 + 1 };
    const u32 i = GROUP * 64 + THREAD;
    if (i >= n || verdicts[i] != PENDING) return;
    GLOBAL const u64 *own = mu + (u64)i * 8, *rows = (GLOBAL const u64 *)(w1 + (u64)i * W1);
    GLOBAL const u64 *c_tilde = (GLOBAL const u64 *)slot_of(in, bound, stride, i);
    u64 a[25], difference = 0;
    clear(a, 0);
    ROLLED for (int block = 0; block < BLOCKS; ++block) {
        UNROLL for (int w = 0; w < 17; ++w) {
            const int at = block * 17 + w;
            if (at < 8) a[w] ^= own[at];
            else if (at < WORDS) a[w] ^= rows[at - 8];
            else if (at == WORDS) a[w] ^= 0x1f;
        }
        if (block == BLOCKS - 1) a[16] ^= LAST_BIT;
        keccak(a);
    }
    UNROLL for (int w = 0; w < C_TILDE / 8; ++w) difference |= a[w] ^ c_tilde[w];
    verdicts[i] = difference == 0 ? VALID : MISMATCH;
}
