//! The table of PEM texts that all interfaces share.

#[path = "../../../mldsa-core/tests/formats/pem_table.rs"]
mod pem_table;

use mldsa_c::{
    Status, mldsa_private_key_free, mldsa_private_key_from_pkcs8, mldsa_public_key_free,
    mldsa_public_key_from_spki,
};

#[test]
#[allow(unsafe_code, reason = "the functions of the interface")]
fn every_text_of_the_table_has_its_result() {
    let cases = pem_table::cases();
    assert!(cases.len() >= 110, "{}", cases.len());
    for case in cases {
        let (bytes, len) = (case.text.as_ptr(), case.text.len());
        let status = if case.public {
            let mut key = core::ptr::null_mut();
            // SAFETY: pointers to live values; the key is freed once.
            unsafe {
                let status = mldsa_public_key_from_spki(bytes, len, &raw mut key);
                mldsa_public_key_free(key);
                status
            }
        } else {
            let mut key = core::ptr::null_mut();
            // SAFETY: as above.
            unsafe {
                let status = mldsa_private_key_from_pkcs8(bytes, len, &raw mut key);
                mldsa_private_key_free(key);
                status
            }
        };
        let wanted = match case.result {
            "key" => Status::Ok,
            _ => Status::Encoding,
        };
        assert_eq!(status, wanted, "{}", case.name);
    }
}
