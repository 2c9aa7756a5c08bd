//! The table of PEM texts that all interfaces share.

#[path = "../../../mldsa-core/tests/formats/pem_table.rs"]
mod pem_table;

use core::{ffi::CStr, ptr};

use mldsa_c::{
    PemPlace, mldsa_private_key_free, mldsa_private_key_from_pkcs8, mldsa_public_key_free,
    mldsa_public_key_from_spki, mldsa_status_name,
};

/// Returns the table's words for a result: `key`, `content`, or the reason with its place.
#[allow(unsafe_code, reason = "the functions of the interface")]
fn result(public: bool, text: &[u8], place: *mut PemPlace) -> String {
    let (bytes, len) = (text.as_ptr(), text.len());
    let status = if public {
        let mut key = ptr::null_mut();
        // SAFETY: pointers to live values or null; the key is freed once.
        unsafe {
            let status = mldsa_public_key_from_spki(bytes, len, &raw mut key, place);
            mldsa_public_key_free(key);
            status
        }
    } else {
        let mut key = ptr::null_mut();
        // SAFETY: as above.
        unsafe {
            let status = mldsa_private_key_from_pkcs8(bytes, len, &raw mut key, place);
            mldsa_private_key_free(key);
            status
        }
    };
    // SAFETY: a static text.
    let name = unsafe { CStr::from_ptr(mldsa_status_name(status as i32)) };
    match name.to_str().unwrap() {
        "ok" => "key".to_owned(),
        name => match name.strip_prefix("pem_") {
            Some(reason) => reason.replace('_', "-"),
            None => "content".to_owned(),
        },
    }
}

#[test]
fn every_text_of_the_table_has_its_result() {
    let cases = pem_table::cases();
    assert!(cases.len() >= 110, "{}", cases.len());
    for case in cases {
        let mut place = PemPlace {
            line: 7,
            column: 7,
            label: [7; 72],
        };
        let word = result(case.public, &case.text, &raw mut place);
        let label = CStr::from_bytes_until_nul(&place.label).unwrap();
        let found = match (place.line, place.column, label.to_str().unwrap()) {
            (0, 0, "") => word.clone(),
            (0, 0, label) => format!("{word} {label}"),
            (line, 0, "") => format!("{word} {line}"),
            (line, column, "") => format!("{word} {line}:{column}"),
            (..) => panic!("{}: {place:?}", case.name),
        };
        assert_eq!(found, case.result, "{}", case.name);
        assert_eq!(
            result(case.public, &case.text, ptr::null_mut()),
            word,
            "{}",
            case.name
        );
    }
}
