//! Exact tails of what an attacker can choose: the blocks and the rejected candidates of ExpandA, the
//! bytes of SampleInBall. All are integers over a power of two, or are rounded up.

use num_bigint::BigUint;

/// 2^23: the candidates of ExpandA.
const CANDIDATES: u32 = 23;
const Q: u32 = 8_380_417;
/// Candidates that are rejected, of 2^23.
const REJECTED: u32 = (1 << CANDIDATES) - Q;
/// Candidates in a block of SHAKE128.
pub const PER_BLOCK: u32 = 168 / 3;
/// Coefficients of a polynomial.
pub const N: u32 = 256;
/// Bits of a fraction that is rounded up.
const FRACTION: u32 = 1024;
/// An attacker succeeds with a probability of at most 2^-20.
pub const MARGIN: u32 = 20;

/// An upper bound of a probability: numerator and bits of the denominator.
pub struct Tail(BigUint, u64);

impl Tail {
    /// Returns whether 2^`calls` trials together succeed with a probability of at most 2^-[`MARGIN`].
    pub fn is_out_of_reach(&self, calls: u32) -> bool {
        &self.0 << (calls + MARGIN) <= BigUint::from(1u8) << self.1
    }

    /// Returns the logarithm to base 2, rounded up to a tenth.
    pub fn log2(&self) -> f64 {
        let shift = self.0.bits().saturating_sub(60);
        let top: u64 = (&self.0 >> shift).try_into().expect("60 bits");
        let log = ((top + u64::from(shift > 0)) as f64).log2() + shift as f64 - self.1 as f64;
        (log * 10.0).ceil() / 10.0
    }
}

fn choose(n: u32, k: u32) -> BigUint {
    (0..k).fold(BigUint::from(1u8), |product, i| product * (n - i) / (i + 1))
}

/// Returns the probability that `blocks` blocks do not fill a polynomial of A.
pub fn expand_a_needs_more(blocks: u32) -> Tail {
    let n = PER_BLOCK * blocks;
    let (accepted, rejected) = (BigUint::from(Q), BigUint::from(REJECTED));
    let terms = (0..N.min(n + 1)).map(|j| choose(n, j) * accepted.pow(j) * rejected.pow(n - j));
    Tail(terms.sum(), u64::from(CANDIDATES * n))
}

/// Returns a bound of the probability that at least `count` of `of` polynomials need more than `blocks`.
pub fn several_need_more(of: u32, count: u32, blocks: u32) -> Tail {
    let Tail(one, bits) = expand_a_needs_more(blocks);
    Tail(choose(of, count) * one.pow(count), bits * u64::from(count))
}

/// Returns a bound of the probability that at least `count` of `of` polynomials reject one of their first 256
/// candidates: the other path of vector code and of the GPU, which costs no more for more of them.
pub fn several_reject(of: u32, count: u32) -> Tail {
    let one = (BigUint::from(1u8) << (CANDIDATES * N)) - BigUint::from(Q).pow(N);
    Tail(
        choose(of, count) * one.pow(count),
        u64::from(CANDIDATES * N * count),
    )
}

/// Returns a bound of the probability that `polys` polynomials reject at least `rejected` candidates until
/// they are full: that of as many rejections among the first 256 `polys` + `rejected` - 1.
///
/// The first term of the tail, times a geometric series.
pub fn rejects_at_least(polys: u32, rejected: u32) -> Tail {
    let n = N * polys + rejected - 1;
    // q^(n - m) / 2^(23 (n - m)), rounded up.
    let (mut power, mut base) = (
        BigUint::from(1u8) << FRACTION,
        BigUint::from(Q) << (FRACTION - CANDIDATES),
    );
    let up = |x: BigUint| (x + ((BigUint::from(1u8) << FRACTION) - 1u8)) >> FRACTION;
    let mut exponent = n - rejected;
    while exponent > 0 {
        if exponent & 1 == 1 {
            power = up(power * &base);
        }
        base = up(&base * &base);
        exponent >>= 1;
    }
    let first = power * choose(n, rejected) * BigUint::from(REJECTED).pow(rejected);
    // The quotient of two terms is at most (n - m) r / ((m + 1) q).
    let (above, below) = (
        u64::from(n - rejected) * u64::from(REJECTED),
        u64::from(rejected + 1) * u64::from(Q),
    );
    if above >= below {
        return Tail(BigUint::from(1u8), 0);
    }
    let sum = first * below / (below - above) + 1u8;
    Tail(sum, u64::from(FRACTION + CANDIDATES * rejected))
}

/// Returns the probability that SampleInBall takes more than `bytes` bytes after the signs.
pub fn ball_needs_more(tau: u32, bytes: u32) -> Tail {
    // The weight of each number of positions so far, out of 256^bytes.
    let mut states = vec![BigUint::from(0u8); tau as usize + 1];
    states[0] = BigUint::from(1u8);
    for _ in 0..bytes {
        for have in (0..tau as usize).rev() {
            let accepted = 256 - tau + have as u32 + 1;
            let moved = &states[have] * accepted;
            states[have] *= 256 - accepted;
            states[have + 1] += moved;
        }
        // Those that were full stay so: kept out of the sum below.
        states[tau as usize] = BigUint::from(0u8);
    }
    Tail(states[..tau as usize].iter().sum(), 8 * u64::from(bytes))
}

/// Returns the least number that `tail` puts out of reach of 2^`calls` trials, from `from` on.
pub fn least(from: u32, calls: u32, tail: impl Fn(u32) -> Tail) -> u32 {
    // Doubling, then halving: tails fall.
    let reached = |n: u32| !tail(n).is_out_of_reach(calls);
    let (mut low, mut step) = (from, 1);
    while reached(low + step) {
        low += step;
        step *= 2;
    }
    if low == from && !reached(from) {
        return from;
    }
    while step > 1 {
        step /= 2;
        if reached(low + step) {
            low += step;
        }
    }
    low + 1
}

/// The worst inputs that an attacker of 2^`calls` hashes finds.
pub struct Worst {
    /// Blocks of all polynomials of A.
    pub blocks: u32,
    /// Rejected candidates in all of them.
    pub rejected: u32,
    /// Bytes of SampleInBall after the signs.
    pub bytes: u32,
    /// Blocks of it.
    pub ball_blocks: u32,
}

/// Computes them for k l = `polys` polynomials and a challenge of weight `tau`.
pub fn worst(polys: u32, tau: u32, calls: u32) -> Worst {
    // One less than what is out of reach, each time.
    let more = least(1, calls, |count| several_need_more(polys, count, 5)) - 1;
    assert!(expand_a_needs_more(6).is_out_of_reach(calls));
    let rejected = least(1, calls, |count| rejects_at_least(polys, count)) - 1;
    let bytes = least(tau, calls, |bytes| ball_needs_more(tau, bytes));
    let ball_blocks = (bytes + 8).div_ceil(136);
    Worst {
        blocks: 5 * polys + more,
        rejected,
        bytes,
        ball_blocks,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All that can happen has probability one, and the bounds are bounds.
    #[test]
    fn tails_are_probabilities() {
        // No byte fills a challenge, and 256 tries of a certain success do.
        assert_eq!(ball_needs_more(39, 0).log2(), 0.0);
        assert_eq!(ball_needs_more(39, 38).log2(), 0.0);
        // All of tau bytes are accepted with the product of (256 - tau + i) / 256.
        let all: f64 = (1..=39).map(|i| f64::from(256 - 39 + i) / 256.0).product();
        let Tail(above, bits) = ball_needs_more(39, 39);
        let exact = above.bits() as f64 - bits as f64;
        assert!((exact - (1.0 - all).log2()).abs() <= 1.0);
        // Four blocks have fewer candidates than a polynomial coefficients.
        assert!((expand_a_needs_more(4).log2() - 0.0).abs() < 0.2);
        // The tail of one polynomial agrees with the other way to compute it: a sixth block is
        // needed where 25 of 280 are rejected.
        let (blocks, rejections) = (
            expand_a_needs_more(5).log2(),
            rejects_at_least(1, 25).log2(),
        );
        assert!(
            rejections >= blocks - 0.2 && rejections <= blocks + 0.2,
            "{blocks} {rejections}"
        );
        assert!(
            least(1, 0, |n| rejects_at_least(16, n)) < least(1, 64, |n| rejects_at_least(16, n))
        );
    }
}
