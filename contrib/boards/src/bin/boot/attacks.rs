//! Images that must not run: single bits changed, lengths that lie, other keys and counters.

use boards::println;

use crate::decision::{IMAGE, Image, Otp, Refusal, SIGNED, decide};

fn report(attack: &str, cases: usize, refused: usize) -> bool {
    println!(
        "{{\"attack\":\"{}\",\"cases\":{},\"refused\":{}}}",
        attack, cases, refused
    );
    cases == refused
}

/// Changes every `step`-th bit of a range, one at a time.
fn bits(
    attack: &str,
    slot: &mut [u8],
    range: core::ops::Range<usize>,
    step: usize,
    refusal: &dyn Fn(&[u8]) -> Option<Refusal>,
    expected: &[Refusal],
) -> bool {
    let (mut cases, mut refused) = (0, 0);
    for bit in (8 * range.start..8 * range.end).step_by(step) {
        slot[bit / 8] ^= 1 << (bit % 8);
        cases += 1;
        refused += usize::from(refusal(slot).is_some_and(|refusal| expected.contains(&refusal)));
        slot[bit / 8] ^= 1 << (bit % 8);
    }
    report(attack, cases, refused)
}

/// Returns whether each attack on an image that may run is refused, and leaves the slot as it was.
pub fn run(slot: &mut [u8], address: u32, otp: &Otp) -> bool {
    use Refusal::{Counter, Key, Length, Signature};
    let Ok(Image { bytes, counter }) = decide(slot, address, otp) else {
        println!("the image is refused");
        return false;
    };
    let end = IMAGE + bytes.len();
    let with = |slot: &[u8], otp: &Otp| decide(slot, address, otp).err();
    let check: &dyn Fn(&[u8]) -> Option<Refusal> = &|slot| with(slot, otp);
    let mut kept = bits("a bit of the key", slot, 0..1312, 131, check, &[Key]);
    kept &= bits(
        "a bit of the signature",
        slot,
        1312..SIGNED,
        97,
        check,
        &[Signature],
    );
    kept &= bits(
        "a bit of the header",
        slot,
        SIGNED..SIGNED + 16,
        1,
        check,
        &[Length, Signature],
    );
    kept &= bits(
        "a bit of the zeros",
        slot,
        SIGNED + 16..IMAGE,
        173,
        check,
        &[Signature],
    );
    let step = 8 * (end - IMAGE) / 150;
    kept &= bits(
        "a bit of the image",
        slot,
        IMAGE..end,
        step,
        check,
        &[Signature],
    );

    let len = (end - IMAGE) as u32;
    let most = (slot.len() - IMAGE) as u32;
    let lies = [
        0,
        7,
        8,
        len - 1,
        len + 1,
        len + 4096,
        most,
        most + 1,
        1 << 31,
        u32::MAX,
    ];
    let mut refused = 0;
    for lie in lies {
        slot[SIGNED + 12..SIGNED + 16].copy_from_slice(&lie.to_le_bytes());
        refused += usize::from(matches!(with(slot, otp), Some(Length | Signature)));
    }
    slot[SIGNED + 12..SIGNED + 16].copy_from_slice(&len.to_le_bytes());
    kept &= report("a length that lies", lies.len(), refused);

    let short = [
        0,
        1,
        1311,
        1312,
        SIGNED - 1,
        SIGNED,
        SIGNED + 15,
        SIGNED + 16,
        IMAGE,
        end - 1,
    ];
    let refused = short.map(|len| with(&slot[..len], otp) == Some(Length));
    kept &= report(
        "a slot that ends early",
        short.len(),
        refused.iter().filter(|&&yes| yes).count(),
    );

    let newer = Otp {
        counter: Otp::bits(counter + 1),
        ..*otp
    };
    let other = Otp {
        key_hash: [0; 64],
        ..*otp
    };
    let refused = [
        with(slot, &newer) == Some(Counter),
        with(slot, &other) == Some(Key),
    ];
    kept &= report(
        "another counter or key",
        2,
        refused.iter().filter(|&&yes| yes).count(),
    );

    let same = Otp {
        counter: Otp::bits(counter),
        ..*otp
    };
    kept & with(slot, &same).is_none()
        & (0..=256).all(|n| {
            Otp {
                counter: Otp::bits(n),
                ..*otp
            }
            .least_counter()
                == n
        })
}
