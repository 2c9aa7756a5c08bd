//! Stores of members: creation, rotation, loss.

use super::*;

/// Clears the byte of a store's secret that records a complete journal, as before a crash.
pub(super) fn make_incomplete(place: &Place, store: &str) {
    let secret = format!("{store}/secret");
    let mut bytes = place.get(&secret);
    bytes[8] = 0;
    seal(&mut bytes);
    place.put(&secret, &bytes);
}

/// Writes the digest of a secret.
pub(super) fn seal(secret: &mut [u8]) {
    use sha3::digest::{ExtendableOutput, Update};
    let (content, digest) = secret.split_at_mut(85);
    let mut shake = sha3::Shake256::default();
    shake.update(b"MLADSA secret");
    shake.update(content);
    shake.finalize_xof_into(digest);
}

/// The marker of a complete journal was one byte without a check: `init` made a fresh journal for a used
/// seed.
#[test]
fn a_used_seed_gets_no_new_journal() {
    let place = Place::new("marker");
    place.agreed(1);
    let secret = place.get("member-0/secret");
    for name in ["log", "mark"] {
        place.remove(&format!("member-0/guard-0.{name}"));
    }
    for at in [8, 12, 20] {
        let mut changed = secret.clone();
        changed[at] ^= 1;
        place.put("member-0/secret", &changed);
        place.refused(&own("init", 0, "--id m0"), "malformed");
    }
    // Also with a valid digest, by a holder of the seed.
    place.put("member-0/secret", &secret);
    make_incomplete(&place, "member-0");
    place.refused(&own("init", 0, "--id m0"), "has served an epoch");
    assert!(!place.exists("member-0/guard-0.log"));
}

/// Files that an interrupted command has left.
#[test]
fn remains_of_interrupted_commands_are_removed() {
    let place = Place::new("remains");
    place.good(&own("init", 0, "--id m0"));
    let remains = ["secret.next", "mldsa-x.tmp", "epoch-1.roots.7-0.next"];
    for name in remains {
        place.put(&format!("member-0/{name}"), &[7; 117]);
    }
    let link = place.path("seed");
    fs::hard_link(place.path("member-0/secret.next"), &link).unwrap();
    place.put("member-0/other", b"");
    // A command that writes leaves the secrets to `rotate`, which holds the lock.
    place.good("close --store member-0 --epoch 1");
    let left = remains.map(|name| place.exists(&format!("member-0/{name}")));
    assert_eq!(left, [true, false, false]);
    place.good("rotate --store member-0 --epoch 1");
    for name in remains {
        assert!(!place.exists(&format!("member-0/{name}")), "{name}");
    }
    assert!(place.exists("member-0/other"));
    assert_eq!(fs::read(link).unwrap(), [0; 117]);
}

/// With any umask, and in an existing directory.
#[cfg(unix)]
#[test]
fn stores_are_private() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::new("owner");
    let mode = |name: &str| fs::metadata(place.path(name)).unwrap().permissions().mode() & 0o777;
    for (name, before, after) in [
        ("new", None, Some(0o700)),
        ("empty", Some((0o777, false)), Some(0o700)),
        ("readable", Some((0o755, true)), Some(0o755)),
        ("writable", Some((0o775, true)), None),
    ] {
        if let Some((mode, has_file)) = before {
            fs::create_dir(place.path(name)).unwrap();
            if has_file {
                place.put(&format!("{name}/file"), b"");
            }
            fs::set_permissions(place.path(name), fs::Permissions::from_mode(mode)).unwrap();
        }
        let init = format!(
            "umask 000; exec \"$0\" aggregate step init --committee c --store {name} --id m"
        );
        let mut shell = Command::new("sh");
        shell.args(["-c", &init, env!("CARGO_BIN_EXE_mldsa")]);
        let run = Run::from(shell.current_dir(place.path("")).output().unwrap());
        let _ = fs::remove_dir_all(place.path("c"));
        let Some(after) = after else {
            assert_eq!(run.code, 2);
            assert!(run.stderr.contains(name) && run.stderr.contains("chmod 700"));
            assert_eq!(fs::read_dir(place.path(name)).unwrap().count(), 1);
            continue;
        };
        assert_eq!((run.code, mode(name)), (0, after), "{}", run.stderr);
        for file in ["secret", "guard-0.log", "guard-0.mark"] {
            assert_eq!(mode(&format!("{name}/{file}")), 0o600, "{file}");
        }
    }
    place.refused(&own("init", 0, "--id="), "1 to 64 bytes");
    assert!(!place.exists("member-0"));
}

/// Otherwise the new seed could acknowledge a second list for its member.
#[test]
fn a_rotated_seed_serves_no_epoch_of_the_old_one() {
    let place = Place::new("rotation");
    place.agreed(1);
    let digest = place.agreed(2);
    let agree = own("agree", 0, &format!("--epoch 2 --expect-roots {digest}"));
    let agree_is_refused = |why: &str| drop(place.refused(&agree, why));
    let rotate = |epoch: usize| format!("rotate --store member-0 --epoch {epoch}");
    // The second epoch has begun.
    place.refused(&rotate(1), "epoch 2");
    place.agree([0], 2);
    place.good(&rotate(2));
    agree_is_refused("epoch is closed");
    // A power failure before the new journal was made: the old epochs stay closed, with either command
    // that completes the store and for any epoch.
    for complete in [own("init", 0, "--id m0"), rotate(1)] {
        make_incomplete(&place, "member-0");
        for name in ["log", "mark"] {
            place.remove(&format!("member-0/guard-1.{name}"));
        }
        agree_is_refused("incomplete");
        place.good(&complete);
        agree_is_refused("epoch is closed");
    }
    // The next seed serves no closed epoch either.
    place.good("close --store member-0 --epoch 7");
    place.refused(&rotate(3), "epoch 7");
}

/// Concurrent and interrupted commands, with any options.
#[test]
fn a_store_is_made_and_rotated_by_one_process() {
    let place = Place::new("one");
    fs::create_dir(place.path("card")).unwrap();
    // One store with several marks at once.
    for round in 0..6 {
        let init = |n: &str| format!("--store s{round} --id s{round} --mark card/{round}-{n}");
        let made = place.race(["a", "b", "c"].map(init));
        assert_eq!(made.into_iter().filter(|made| *made).count(), 1);
        place.good(&format!("close --store s{round} --epoch 1"));
    }
    place.good(&own("init", 0, "--id m0 --mark card/m"));
    let rotate = |epoch: usize| format!("rotate --store member-0 --epoch {epoch}");
    // The next mark belongs to another journal: checked while the old seed exists.
    place.put("card/m.1", b"another journal's");
    place.refused(&rotate(1), "m.1: exists");
    place.good("close --store member-0 --epoch 1");
    place.remove("card/m.1");
    place.good(&rotate(1));
    // Killed before the secret recorded the journal: name and mark stay.
    make_incomplete(&place, "member-0");
    let mark = place.get("member-0/mark-path");
    for (id, why) in [("wrong", "another member"), ("m0", "m.1: is the mark")] {
        place.refused(
            &own("init", 0, &format!("--id {id} --mark card/other")),
            why,
        );
        assert_eq!(place.get("member-0/mark-path"), mark);
        assert_eq!(place.get("member-0/id"), b"m0");
    }
    place.good(&rotate(2));
    place.good("close --store member-0 --epoch 3");
    // Killed before the secret was written.
    fs::create_dir(place.path("begun")).unwrap();
    place.put("begun/id", b"m9");
    let init = "init --committee committee --store begun --id";
    place.refused(&format!("{init} m8"), "another member");
    assert_eq!(place.get("begun/id"), b"m9");
    place.good(&format!("{init} m9"));
    // A secret that is elsewhere for now.
    let files = || {
        let entries = fs::read_dir(place.path("begun")).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name());
        let mut files: Vec<_> = names.filter(|name| name != "lock").collect();
        files.sort();
        files
    };
    let before = files();
    place.rename("begun/secret", "away");
    place.refused(
        "init --committee fresh --store begun --id m9",
        "its secret is gone",
    );
    place.rename("away", "begun/secret");
    assert_eq!(files(), before);
    place.good("close --store begun --epoch 1");
    // A full disk: existing files stay, and no file is added.
    #[cfg(unix)]
    for args in [
        "step init --committee committee --store new --id new",
        "step init --committee new --store new-2 --id new",
        "step plan --committee committee --all-registered --content slot-7",
        &rotate(3),
    ] {
        let script = format!("ulimit -f 0; exec \"$0\" aggregate {args} 2>/dev/null");
        let mut shell = Command::new("sh");
        shell.args(["-c", &script, env!("CARGO_BIN_EXE_mldsa")]);
        let status = shell.current_dir(place.path("")).status().unwrap();
        assert_eq!(status.code(), Some(2), "{args}");
        for name in ["new", "new-2", "committee/epoch-1"] {
            assert!(!place.exists(name), "{name}");
        }
    }
    place.good("plan --committee committee --all-registered --content slot-7");
    place.good(&rotate(3));
    // A committee that cannot be made.
    let init = "init --committee payload/committee --store own/store --id m1";
    place.refused(init, "payload/committee");
    assert!(!place.exists("own"));
}

/// A name belongs to the member that registered it first; an interrupted `init` can be repeated.
#[test]
fn a_registration_is_not_replaced() {
    let place = Place::new("names");
    place.agreed(1);
    let first = place.get("committee/registrations/6d30");
    place.refused(&own("init", 7, "--id m0"), "m0");
    assert_eq!(place.get("committee/registrations/6d30"), first);
    place.good(&member("open", 0, ""));
    // No file is left, so that another name can be used.
    assert!(!place.exists("member-7"));
    place.good(&own("init", 7, "--id m7"));
    // Of two concurrent requests one succeeds, and no file of the other one is left.
    for round in 0..6 {
        let stores = ["a", "b"].map(|twin| format!("twin-{round}-{twin}"));
        let init = |store: &String| format!("--store {store} --id twin-{round}");
        let good = place.race(stores.each_ref().map(init));
        assert!(good[0] != good[1], "{good:?}");
        assert_eq!(stores.map(|store| place.exists(&store)), good);
    }
    // A member of the same name in another committee is rejected.
    place.good("init --committee elsewhere --id m0 --store stranger");
    let before = place.get("committee/epoch-1/roots/6d30");
    let root = "root --committee committee --store stranger";
    place.refused(root, "another key of m0");
    assert_eq!(place.get("committee/epoch-1/roots/6d30"), before);
    // A store in or around the shared directory, under any name; no directory is made.
    #[cfg(unix)]
    std::os::unix::fs::symlink("other", place.path("link")).unwrap();
    for (committee, store) in [
        ("committee", "committee/."),
        ("committee", "committee/me"),
        ("committee", "committee/epoch-1"),
        ("committee", "new/../committee/registrations"),
        ("new", "other/../new"),
        ("new", "new/me"),
        ("new/registrations", "new"),
        ("member-0/shared", "member-0"),
        // A link to a directory that does not exist yet.
        #[cfg(unix)]
        ("link", "other"),
        #[cfg(unix)]
        ("link", "other/me"),
    ] {
        let init = format!("init --committee {committee} --store {store} --id m8");
        place.refused(&init, "neither in the other");
        assert!(!place.exists("new") && !place.exists("other"));
        assert!(!place.exists(&format!("{store}/id")) || store == "member-0");
    }
    // Killed before its registration was written, or before the journal was.
    place.good(&own("init", 9, "--id m9"));
    let key = || place.get("committee/registrations/6d39")[8 + 4 + 2..][..2592].to_vec();
    let before = key();
    make_incomplete(&place, "member-9");
    place.remove("committee/registrations/6d39");
    place.good(&own("init", 9, "--id m9"));
    assert_eq!(key(), before);
    place.refused(&own("init", 9, "--id m9"), "the store exists");
}

/// Restored and deleted files of a store.
#[test]
fn a_store_without_journal_does_not_sign() {
    let place = Place::new("restore");
    place.agreed(1);
    for n in 0..3 {
        place.good(&member("open", n, ""));
    }
    let commit = member("commit", 0, "");
    let log = place.get("member-0/guard-0.log");
    place.good(&commit);
    let newer = place.get("member-0/guard-0.log");
    // An older log under the present mark.
    place.put("member-0/guard-0.log", &log);
    place.refused(&commit, "journal is damaged");
    place.put("member-0/guard-0.log", &newer);
    place.good(&commit);
    // No journal at all: neither a step nor `init` makes another.
    for name in ["member-0/guard-0.log", "member-0/guard-0.mark"] {
        place.remove(name);
    }
    place.refused(&commit, "make a new member");
    place.refused(&own("init", 0, "--id m0"), "the store exists");
    place.refused(&commit, "make a new member");
    place.remove("member-0/id");
    for more in ["--id m0", "--id mx --mark another-mark"] {
        place.refused(&own("init", 0, more), "the store exists");
    }
    assert!(!place.exists("member-0/id") && !place.exists("member-0/mark-path"));
    place.refused(&commit, "member-0/id");
    place.put("member-0/id", b"m0");
    place.refused(&commit, "make a new member");
    // Another mark does not change that.
    let other_mark = own("init", 2, "--id m2 --mark another-mark");
    place.refused(&other_mark, "the store exists");
    place.good(&member("open", 2, ""));
    // A secret of the version before, without the marker.
    let secret = place.get("member-1/secret");
    place.put("member-1/secret", &secret[13..]);
    place.refused(&own("init", 1, "--id m1"), "older version");
}

/// With the mark elsewhere, a restore of the whole store is detected. The generation is appended to
/// the name of the mark.
#[test]
fn marks_are_outside_and_serve_one_store() {
    let place = Place::new("marks");
    for (mark, why) in [
        ("committee", "is a directory"),
        ("nowhere/mark", "no directory that exists"),
    ] {
        fs::create_dir_all(place.path("committee")).unwrap();
        place.refused(&own("init", 9, &format!("--id m9 --mark {mark}")), why);
        assert!(!place.exists("member-9"));
    }
    place.good(&own("init", 9, "--id m9 --mark mark-of-m9"));
    assert!(!place.exists("member-9/guard-0.mark"));
    let log = place.get("member-9/guard-0.log");
    place.good("close --store member-9 --epoch 1");
    place.put("member-9/guard-0.log", &log);
    place.refused("close --store member-9 --epoch 2", "journal is damaged");
    // One mark serves one store.
    let registered =
        |id: &str| place.exists(&format!("committee/registrations/{}", hex::encode(id)));
    let taken = own("init", 8, "--id m8 --mark mark-of-m9");
    place.refused(&taken, "mark-of-m9.0: exists");
    assert!(!place.exists("member-8") && !registered("m8"));
    // Of two concurrent requests one succeeds, and its journal works.
    for round in 0..6 {
        let names = ["a", "b"].map(|twin| format!("twin-{round}-{twin}"));
        let init = |name: &String| format!("--store {name} --id {name} --mark mark-{round}");
        let made = place.race(names.each_ref().map(init));
        assert!(made[0] != made[1], "{made:?}");
        for (name, made) in names.iter().zip(made) {
            assert_eq!((registered(name), place.exists(name)), (made, made));
            place.fails(
                if made { 0 } else { 2 },
                &format!("close --store {name} --epoch 1"),
                "",
            );
            assert_eq!(place.exists(name), made);
        }
        // The other process succeeds with a mark of its own.
        let name = &names[usize::from(made[0])];
        let init = format!("--store {name} --id {name} --mark mark-of-{name}");
        place.good(&format!("init --committee committee {init}"));
    }
    // A mark in the store or in the shared directory is rejected, with the appended generation.
    for (store, mark) in [
        ("member-8", "member-8/mark"),
        ("member-8", "committee/mark"),
        ("member-8", "committee/registrations/mark"),
        ("card.0", "card"),
        ("card.0/member-8", "card"),
    ] {
        let init = format!("init --committee committee --store {store} --id m8 --mark {mark}");
        place.refused(&init, "a file elsewhere");
        assert!(!place.exists(store));
    }
    place.good(&own("init", 8, "--id m8 --mark mark-of-m8"));
}
