//! The three parameter sets (FIPS 204, tables 1 and 2), typed in once more so
//! that a wrong constant under test is not copied into its own test.

/// One parameter set.
#[derive(Debug, PartialEq, Eq)]
pub struct Set {
    /// Name, as in FIPS 204 and the vector files.
    pub name: &'static str,
    /// Rows of the matrix.
    pub k: usize,
    /// Columns of the matrix.
    pub l: usize,
    /// Largest absolute value of a secret coefficient.
    pub eta: i64,
    /// Non-zero coefficients of the challenge.
    pub tau: usize,
    /// Logarithm of gamma1 to base 2.
    pub gamma1_bits: usize,
    /// Low-order rounding range.
    pub gamma2: i64,
    /// Largest hint weight.
    pub omega: usize,
    /// Collision strength of the challenge hash, in bits.
    pub lambda: usize,
    /// Bytes of an encoded public key.
    pub pk_len: usize,
    /// Bytes of an expanded private key.
    pub sk_len: usize,
    /// Bytes of a signature.
    pub sig_len: usize,
}

/// ML-DSA-44.
pub static ML_DSA_44: Set = Set {
    name: "ML-DSA-44",
    k: 4,
    l: 4,
    eta: 2,
    tau: 39,
    gamma1_bits: 17,
    gamma2: 95_232,
    omega: 80,
    lambda: 128,
    pk_len: 1312,
    sk_len: 2560,
    sig_len: 2420,
};

/// ML-DSA-65.
pub static ML_DSA_65: Set = Set {
    name: "ML-DSA-65",
    k: 6,
    l: 5,
    eta: 4,
    tau: 49,
    gamma1_bits: 19,
    gamma2: 261_888,
    omega: 55,
    lambda: 192,
    pk_len: 1952,
    sk_len: 4032,
    sig_len: 3309,
};

/// ML-DSA-87.
pub static ML_DSA_87: Set = Set {
    name: "ML-DSA-87",
    k: 8,
    l: 7,
    eta: 2,
    tau: 60,
    gamma1_bits: 19,
    gamma2: 261_888,
    omega: 75,
    lambda: 256,
    pk_len: 2592,
    sk_len: 4896,
    sig_len: 4627,
};

/// All three.
pub static SETS: [&Set; 3] = [&ML_DSA_44, &ML_DSA_65, &ML_DSA_87];

impl Set {
    /// The set of this name.
    ///
    /// # Panics
    /// On any other name: vector files name nothing else.
    #[must_use]
    pub fn named(name: &str) -> &'static Self {
        SETS.into_iter()
            .find(|set| set.name == name)
            .unwrap_or_else(|| panic!("unknown parameter set {name}"))
    }

    /// Range of the masking coefficients.
    #[must_use]
    pub fn gamma1(&self) -> i64 {
        1 << self.gamma1_bits
    }

    /// Largest coefficient a response may have: `gamma1 - beta - 1`.
    #[must_use]
    pub fn z_max(&self) -> i64 {
        self.gamma1() - self.tau as i64 * self.eta - 1
    }

    /// Bytes of the commitment hash.
    #[must_use]
    pub fn c_tilde_len(&self) -> usize {
        self.lambda / 4
    }

    /// Bytes of the packed response.
    #[must_use]
    pub fn z_len(&self) -> usize {
        self.l * 32 * (1 + self.gamma1_bits)
    }

    /// Number of values `HighBits` can take.
    #[must_use]
    pub fn w1_values(&self) -> i64 {
        (crate::model::Q - 1) / (2 * self.gamma2)
    }
}

#[cfg(test)]
mod tests {
    use super::SETS;

    #[test]
    fn lengths_follow_from_the_parameters() {
        for set in SETS {
            let s_bits = if set.eta == 2 { 3 } else { 4 };
            assert_eq!(set.pk_len, 32 + 320 * set.k);
            assert_eq!(
                set.sk_len,
                128 + 32 * ((set.l + set.k) * s_bits + 13 * set.k)
            );
            assert_eq!(
                set.sig_len,
                set.c_tilde_len() + set.z_len() + set.omega + set.k
            );
        }
        assert_eq!(SETS.map(|set| set.z_max()), [130_993, 524_091, 524_167]);
    }
}
