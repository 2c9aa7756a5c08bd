//! Tests: a store and its journal across rotations and interruptions.

use super::*;

/// A step that has read the secret before a rotation continues after it.
#[test]
fn an_old_seed_has_no_journal_after_a_rotation() {
    let folder = tempfile::tempdir().unwrap();
    let [committee, path] = ["committee", "store"].map(|name| folder.path().join(name));
    let stale = Store::init(&committee, &path, "m0", None).unwrap();
    drop(stale.journal().unwrap());
    Store::rotate(&path, 1).unwrap();
    let error = stale.journal().map(drop).unwrap_err().to_string();
    assert!(error.ends_with("the store was rotated just now"), "{error}");
    stale.close(9).unwrap_err();
    Store::open(&path).unwrap().close(9).unwrap();
}

/// `init` is interrupted before the registration while other processes try.
#[test]
fn one_process_at_a_time_makes_or_rotates_a_store() {
    let folder = tempfile::tempdir().unwrap();
    let [committee, path] = ["committee", "store"].map(|name| folder.path().join(name));
    let (mut made, mut lock) = (TempPaths::default(), None);
    let id = member_id(b"m0").unwrap();
    let begun = Store::begin(&committee, &path, id, None, &mut made, &mut lock);
    let (mut store, journal) = begun.unwrap();
    let rejected = |result: io::Result<()>| {
        let error = result.unwrap_err().to_string();
        assert!(error.ends_with("rotates this store now"), "{error}");
    };
    rejected(Store::init(&committee, &path, "m0", None).map(drop));
    rejected(Store::rotate(&path, 1));
    register(&committee, &store.member, &mut made).unwrap();
    store.complete().unwrap();
    rejected(Store::rotate(&path, 1));
    drop((journal, lock));
    Store::rotate(&path, 1).unwrap();
    assert_eq!(Store::open(&path).unwrap().secret.generation, 1);
}
