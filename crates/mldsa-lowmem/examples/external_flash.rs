//! Verifies with key, image and signature in an external flash chip, whose content may change between
//! two reads: `cargo run -p mldsa-lowmem --example external_flash`.

use core::ops::Range;

use mldsa_core::{MlDsa44, Randomness, SigningKey};
use mldsa_lowmem::{Context, MuBuilder, Reader, VerifyingKey};

/// A region of a chip. A device reads over a bus here.
struct Region<'a>(&'a [u8], Range<usize>);

impl Reader for Region<'_> {
    type Error = &'static str;

    fn size(&self) -> usize {
        self.1.len()
    }

    fn read(&mut self, offset: usize, out: &mut [u8]) -> Result<(), Self::Error> {
        let region = &self.0[self.1.clone()];
        let bytes = region.get(offset..).and_then(|rest| rest.get(..out.len()));
        out.copy_from_slice(bytes.ok_or("a read past the end of the region")?);
        Ok(())
    }
}

fn main() -> Result<(), Box<dyn core::error::Error>> {
    let context = Context::new(b"firmware/1")?;
    let image = vec![0x5a; 10_000];
    let key = SigningKey::<MlDsa44>::from_seed(&[7; 32]);
    let signature = key.sign_with_context(&image, context, Randomness::Deterministic)?;
    let chip = [key.verifying_key().as_ref(), signature.as_ref(), &image].concat();

    let pk = || Region(&chip, 0..1312);
    let tr = VerifyingKey::<MlDsa44>::tr_from(&mut pk())?;
    let mut mu = MuBuilder::from_tr(&tr, context);
    let mut piece = [0; 500];
    for offset in (0..image.len()).step_by(piece.len()) {
        Region(&chip, 3732..chip.len()).read(offset, &mut piece)?;
        mu.update(&piece);
    }
    let mut signature = Region(&chip, 1312..3732);
    VerifyingKey::<MlDsa44>::verify_mu_from(&mut pk(), &tr, &mu.finish(), &mut signature)?;
    println!("valid");
    Ok(())
}
