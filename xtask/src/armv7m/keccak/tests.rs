//! The generated program, run as the CPU would.

use super::*;

/// The round constants of the halves of lane (0, 0), rotated as they are.
fn constants(schedule: &Schedule) -> [[u32; 2]; 24] {
    schedule::round_constants()
        .map(|constant| HALVES.map(|half| schedule.store(constant, LANES[0], half)))
}

/// Runs the program as the CPU would.
fn simulate(rounds: usize, state: &mut [u32; 50]) {
    let (schedule, head, body) = program(rounds);
    let constants = constants(&schedule);
    let (mut registers, mut frame) = ([0u32; 15], [0u32; FRAME / 4]);
    for number in 0..24 / rounds {
        let code = if number == 0 {
            [&head[..], &body].concat()
        } else {
            body.clone()
        };
        for instruction in code {
            let word = |base, at: usize| match base {
                Base::State => state[at / 4],
                Base::Stack => frame[at / 4],
            };
            let r = |register: Register| registers[usize::from(register)];
            let (to, value) = match instruction {
                Load(to, base, at) => (to, word(base, at)),
                LoadTwo(a, b, base, at) => {
                    let second = word(base, at + 4);
                    let first = word(base, at);
                    registers[usize::from(b)] = second;
                    (a, first)
                }
                Store(what, base, at) => {
                    match base {
                        Base::State => state[at / 4] = r(what),
                        Base::Stack => frame[at / 4] = r(what),
                    }
                    continue;
                }
                StoreTwo(a, b, _, at) => {
                    (state[at / 4], state[at / 4 + 1]) = (r(a), r(b));
                    continue;
                }
                Constant(to, at) => (to, constants.as_flattened()[2 * rounds * number + at / 4]),
                Move(to, from) => (to, r(from)),
                Eor(to, a, b, bits) => (to, r(a) ^ r(b).rotate_right(bits)),
                Bic(to, a, b, bits) => (to, r(a) & !r(b).rotate_right(bits)),
            };
            registers[usize::from(to)] = value;
        }
    }
}

#[test]
fn both_loops_are_the_permutation() {
    let schedule = Schedule::new();
    let mut x = 1u64;
    let mut plain: [u64; 25] = core::array::from_fn(|_| {
        x = x
            .wrapping_mul(0x5851_f42d_4c95_7f2d)
            .wrapping_add(0x1405_7b7e_f767_814f);
        x ^ x >> 31
    });
    let stored = |state: &[u64; 25]| -> [u32; 50] {
        core::array::from_fn(|n| schedule.store(state[n / 2], LANES[n / 2], n % 2))
    };
    for _ in 0..5 {
        let (mut two, mut four) = (stored(&plain), stored(&plain));
        simulate(2, &mut two);
        simulate(4, &mut four);
        schedule::keccak(&mut plain);
        assert_eq!(two, stored(&plain));
        assert_eq!(four, stored(&plain));
    }
}

#[test]
fn the_reference_is_keccak() {
    let mut state = [0; 25];
    schedule::keccak(&mut state);
    assert_eq!(state[0], 0xf125_8f79_40e1_dde7);
    assert_eq!(state[24], 0xeaf1_ff7b_5cec_a249);
}
