#!/usr/bin/env python3
"""A plain model of ML-ADSA-87 in offset mode: integers, schoolbook products, hashlib.

It shares nothing with the crate. It prints epoch-n2.json: one committee of two that signs a
decision and a consensus task, from master seeds to the aggregate:

    python3 model.py > epoch-n2.json
"""
import hashlib
import json

Q, N, K, L = 8380417, 256, 8, 7
ETA, TAU, BETA, D, OMEGA = 2, 60, 120, 13, 75
GAMMA1, GAMMA2 = 1 << 19, (Q - 1) // 32
SIGMA, WIDTH, EPOCH = 360, 4096, 7
CTX, PAYLOAD = b"QRL", b"epoch vectors"
SLOTS, ATTEMPTS, SLOT, WEIGHTS, THRESHOLD = 2, 2, 1, [3, 2], 5


def shake(data, length, bits=256):
    return (hashlib.shake_256 if bits == 256 else hashlib.shake_128)(data).digest(length)


def lp(*parts):
    return b"".join(len(part).to_bytes(4, "big") + part for part in parts)


def sha256(data):
    return hashlib.sha256(data).hexdigest()


# --- polynomials ------------------------------------------------------------------

def zero():
    return [0] * N


def add(a, b):
    return [x + y for x, y in zip(a, b)]


def mul(a, b):
    """Negacyclic product by one big integer product: coefficients are packed wide."""
    width = 64
    pack = lambda p: sum((x % Q) << (width * i) for i, x in enumerate(p))
    product = pack(a) * pack(b)
    mask = (1 << width) - 1
    out = [(product >> (width * i)) & mask for i in range(2 * N)]
    return [(out[i] - out[i + N]) % Q for i in range(N)]


def times(a_hat, x):
    out = []
    for row in a_hat:
        total = zero()
        for a, b in zip(row, x):
            total = add(total, mul(a, b))
        out.append([v % Q for v in total])
    return out


def centred(a):
    a %= Q
    return a - Q if a > Q // 2 else a


def norm(v):
    return max(abs(centred(a)) for p in v for a in p)


# The matrix is sampled in the transformed domain: its polynomials come out of the
# inverse of algorithm 41, here by evaluation at the roots, in the order of the
# standard's bit-reversed powers of 1753.

def bitrev(m):
    return int(f"{m:08b}"[::-1], 2)


def inverse_ntt(w):
    a, length, m = list(w), 1, 256
    while length < N:
        start = 0
        while start < N:
            m -= 1
            z = -pow(1753, bitrev(m), Q) % Q
            for j in range(start, start + length):
                t = a[j]
                a[j] = (t + a[j + length]) % Q
                a[j + length] = z * (t - a[j + length]) % Q
            start += 2 * length
        length *= 2
    f = pow(256, Q - 2, Q)
    return [f * x % Q for x in a]


def expand_a(rho):
    def poly(r, s):
        stream, out, at = shake(rho + bytes([s, r]), 2000, 128), [], 0
        while len(out) < N:
            b0, b1, b2 = stream[at:at + 3]
            at += 3
            value = b0 | b1 << 8 | (b2 & 0x7f) << 16
            if value < Q:
                out.append(value)
        return inverse_ntt(out)
    return [[poly(r, s) for s in range(L)] for r in range(K)]


def bounded(seed):
    stream, out = shake(seed, 1000), []
    for byte in stream:
        for half in (byte & 15, byte >> 4):
            if half < 15 and len(out) < N:
                out.append(2 - half % 5)
    return out


def ball(c_tilde):
    stream, c = shake(c_tilde, 1000), zero()
    signs, at = int.from_bytes(stream[:8], "little"), 8
    for i in range(N - TAU, N):
        while stream[at] > i:
            at += 1
        j = stream[at]
        at += 1
        c[i] = c[j]
        c[j] = -1 if signs & 1 else 1
        signs >>= 1
    return c


def decompose(r):
    r %= Q
    low = r % (2 * GAMMA2)
    if low > GAMMA2:
        low -= 2 * GAMMA2
    if r - low == Q - 1:
        return 0, low - 1
    return (r - low) // (2 * GAMMA2), low


def high(v):
    return [[decompose(a)[0] for a in p] for p in v]


def power2round(a):
    low = a % (1 << D)
    if low > 1 << (D - 1):
        low -= 1 << D
    return (a - low) >> D, low


# --- encodings ----------------------------------------------------------------------

def bits(values, width):
    total = sum(v << (width * i) for i, v in enumerate(values))
    return total.to_bytes(len(values) * width // 8, "little")


def vec(v):
    return b"".join(bits([a % Q for a in p], 24) for p in v)


def w1_encode(v):
    return b"".join(bits(p, 4) for p in v)


# --- the scheme ------------------------------------------------------------------------

def prf(seed, label, content, length):
    return shake(lp(b"F.prf", seed, label, content), length)


def uniform(seed, label, content, half_width, polys):
    out = []
    for i in range(polys):
        stream = prf(seed, label, content + i.to_bytes(2, "little"), 1024)
        words = [int.from_bytes(stream[4 * j:4 * j + 4], "little") for j in range(N)]
        out.append([w % (2 * half_width + 1) - half_width for w in words])
    return out


def leaf(data):
    return shake(b"F.mt\x00" + data, 32)


def root(leaves):
    level = list(leaves)
    while len(level) & (len(level) - 1):
        level.append(leaf(b""))
    while len(level) > 1:
        level = [shake(b"F.mt\x01" + level[i] + level[i + 1], 32) for i in range(0, len(level), 2)]
    return level[0]


def be(value, width):
    return value.to_bytes(width, "big")


def label(slot, attempt):
    """SlotLabel and the attempt byte."""
    base = shake(lp(b"F.label", CTX, be(EPOCH, 8), be(slot, 8), be(0, 4)), 32)
    return base + bytes([attempt])


def one_time_key(a_hat, seed, content):
    r = prf(seed, b"F.key", content, 64)
    s1 = [bounded(r + i.to_bytes(2, "little")) for i in range(L)]
    s2 = [bounded(r + (L + i).to_bytes(2, "little")) for i in range(K)]
    return s1, s2, [[v % Q for v in add(a, b)] for a, b in zip(times(a_hat, s1), s2)]


def key_leaf(m, content, t):
    return leaf(lp(m["id"].encode(), content, vec(t)))


def committee(rho, a_hat):
    """Members with registration keys and roots, and the identity of the committee."""
    members = []
    for i, weight in enumerate(WEIGHTS):
        m = {"id": f"m{i}", "seed": shake(b"seed" + bytes([i]), 32), "weight": weight}
        m["regpk"] = keygen(prf(m["seed"], b"F.reg", lp(CTX, be(EPOCH, 8)), 32))
        leaves = []
        for slot in range(SLOTS):
            for attempt in range(ATTEMPTS):
                content = label(slot, attempt)
                leaves.append(key_leaf(m, content, one_time_key(a_hat, m["seed"], content)[2]))
        m["kt_root"] = root(leaves)
        digest = shake(lp(m["regpk"]), 32)
        m["leaf"] = leaf(lp(m["id"].encode(), be(weight, 8), m["kt_root"], digest))
        members.append(m)
    view = (
        b"MLADSAV1" + lp(CTX) + be(EPOCH, 8) + be(SLOTS, 4) + bytes([ATTEMPTS])
        + be(THRESHOLD, 8) + be(len(members), 4) + root([m["leaf"] for m in members])
    )
    return members, shake(b"MLADSA committee" + lp(rho, view), 32)


def vector(rho, a_hat, members, identity, consensus):
    failed = []
    for attempt in range(ATTEMPTS):
        result = try_once(rho, a_hat, members, identity, label(SLOT, attempt), attempt, consensus)
        if isinstance(result, dict):
            result["failed_attempts"] = failed
            return result
        failed.append([attempt, result])
    raise SystemExit("all attempts missed")


def try_once(rho, a_hat, members, reg_root, scoped, attempt, consensus):
    t_sum, leaves = [zero() for _ in range(K)], []
    for m in members:
        m["s1"], m["s2"], m["t"] = one_time_key(a_hat, m["seed"], scoped)
        t_sum = [[v % Q for v in add(a, b)] for a, b in zip(t_sum, m["t"])]
        m["leaf"] = key_leaf(m, scoped, m["t"])
        leaves.append(m["leaf"])
    t1 = [[power2round(a)[0] for a in p] for p in t_sum]
    pk = rho + b"".join(bits(p, 10) for p in t1)
    part_root = root(leaves)
    if consensus:
        ctx, msg = CTX + part_root, PAYLOAD
    else:
        ctx, msg = CTX, lp(PAYLOAD, part_root, reg_root, EPOCH.to_bytes(8, "big"))
    mu = shake(shake(pk, 64) + b"\x00" + bytes([len(ctx)]) + ctx + msg, 64)

    w_sum = [zero() for _ in range(K)]
    for m in members:
        m["y"] = uniform(m["seed"], b"F.nonce.mb", lp(scoped, mu), SIGMA, L)
        m["r"] = uniform(m["seed"], b"F.offset", lp(scoped, mu, WIDTH.to_bytes(4, "big")), WIDTH, K)
        m["w"] = times(a_hat, m["y"])
        parts = [[decompose(a) for a in p] for p in m["w"]]
        m["hi"] = [[hi for hi, _ in p] for p in parts]
        m["q"] = [[lo + r for (_, lo), r in zip(p, off)] for p, off in zip(parts, m["r"])]
        for i in range(K):
            shown = [hi * 2 * GAMMA2 + q for hi, q in zip(m["hi"][i], m["q"][i])]
            w_sum[i] = [v % Q for v in add(w_sum[i], shown)]
    w1 = high(w_sum)
    c_tilde = shake(mu + w1_encode(w1), 64)
    c = ball(c_tilde)
    z_sum = [zero() for _ in range(L)]
    for m in members:
        m["z"] = [
            [a + centred(b) for a, b in zip(y, mul(c, s))] for y, s in zip(m["y"], m["s1"])
        ]
        assert norm(m["z"]) <= SIGMA + BETA
        z_sum = [add(a, b) for a, b in zip(z_sum, m["z"])]
    if norm(z_sum) >= GAMMA1 - BETA:
        return "znorm"
    rr = []
    for az, t in zip(times(a_hat, z_sum), t1):
        ct = mul(c, [a << D for a in t])
        rr.append([(a - b) % Q for a, b in zip(az, ct)])
    hint = [[int(decompose(a)[0] != b) for a, b in zip(p, w)] for p, w in zip(rr, w1)]
    weight = sum(map(sum, hint))
    if weight > OMEGA:
        return "weight"
    for p, h, w in zip(rr, hint, w1):
        for a, bit, want in zip(p, h, w):
            hi, lo = decompose(a)
            if bit and (hi + (1 if lo > 0 else -1)) % 16 != want:
                return "carry"
    positions = [i for p in hint for i, bit in enumerate(p) if bit]
    counts, total = [], 0
    for p in hint:
        total += sum(p)
        counts.append(total)
    packed = bytes(positions) + bytes(OMEGA - len(positions)) + bytes(counts)
    sig = c_tilde + b"".join(bits([GAMMA1 - a for a in p], 20) for p in z_sum) + packed

    commitment = lambda m: (
        b"".join(bits(p, 4) for p in m["hi"]),
        b"".join(bits([a + (1 << 19) for a in p], 20) for p in m["q"]),
    )
    aggregate = (
        b"MLADSAF3" + bytes([int(consensus)]) + be(SLOT, 4) + bytes([attempt])
        + be(EPOCH, 8) + lp(PAYLOAD, b"\x07") + sig
    )
    out = {
        "mode": "offset",
        "rho": rho.hex(),
        "epoch": EPOCH,
        "ctx": CTX.decode(),
        "slots": SLOTS,
        "attempts": ATTEMPTS,
        "threshold": THRESHOLD,
        "slot": SLOT,
        "content_with_attempt_hex": scoped.hex(),
        "attempt": attempt,
        "payload": PAYLOAD.decode(),
        "sigma": SIGMA,
        "R": WIDTH,
        "identity": reg_root.hex(),
        "part_root": part_root.hex(),
        "fips_ctx": ctx.hex(),
        "msg": msg.hex(),
        "mu": mu.hex(),
        "pk": pk.hex(),
        "pk_sha256": sha256(pk),
        "bits": "07",
        "c_tilde": c_tilde.hex(),
        "w1_sha256": sha256(w1_encode(w1)),
        "z_inf": norm(z_sum),
        "hint_weight": weight,
        "sig": sig.hex(),
        "sig_sha256": sha256(sig),
        "object_sha256": sha256(aggregate),
        "members": [],
    }
    if consensus:
        out["kind"] = "consensus"
    for m in members:
        hi, q = commitment(m)
        fingerprint = shake(lp(b"F.seedfp", m["seed"]), 32)
        out["members"].append({
            "id": m["id"],
            "seed": m["seed"].hex(),
            "weight": m["weight"],
            "kt_root": m["kt_root"].hex(),
            "regpk_sha256": sha256(m["regpk"]),
            "guard_key": shake(b"F.onetime" + lp(fingerprint, scoped[:-1]), 32).hex(),
            "s1_s2_sha256": sha256(vec(m["s1"] + m["s2"])),
            "t_sha256": sha256(vec(m["t"])),
            "kt_leaf": m["leaf"].hex(),
            "y_sha256": sha256(vec(m["y"])),
            "w_sha256": sha256(vec(m["w"])),
            "r_sha256": sha256(vec(m["r"])),
            "hi_wire_sha256": sha256(hi),
            "q_wire_sha256": sha256(q),
            "commitment_digest": shake(lp(b"offset", mu, WIDTH.to_bytes(4, "big"), hi + q), 32).hex(),
            "z_sha256": sha256(vec(m["z"])),
            "z_wire_sha256": sha256(b"".join(bits([a + (1 << 11) for a in p], 12) for p in m["z"])),
        })
    return out


def keygen(xi):
    """The public key of algorithm 6."""
    seeds = shake(xi + bytes([K, L]), 128)
    rho, rho_p = seeds[:32], seeds[32:96]
    s1 = [bounded(rho_p + i.to_bytes(2, "little")) for i in range(L)]
    s2 = [bounded(rho_p + (L + i).to_bytes(2, "little")) for i in range(K)]
    t = [[v % Q for v in add(a, b)] for a, b in zip(times(expand_a(rho), s1), s2)]
    return rho + b"".join(bits([power2round(a)[0] for a in p], 10) for p in t)


if __name__ == "__main__":
    RHO = shake(b"MLADSA rho" + lp(CTX), 32)
    A_HAT = expand_a(RHO)
    MEMBERS, IDENTITY = committee(RHO, A_HAT)
    files = [vector(RHO, A_HAT, MEMBERS, IDENTITY, consensus) for consensus in (False, True)]
    print(json.dumps(files, indent=1))
