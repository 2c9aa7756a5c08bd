//! Stores of members: creation, rotation, loss.

use super::*;

/// With any umask, and in an existing directory.
#[cfg(unix)]
#[test]
fn stores_are_private() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::new("owner");
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let init = |name: &str| {
        let mut shell = std::process::Command::new("sh");
        shell.args([
            "-c",
            "umask 000; exec \"$@\"",
            "sh",
            env!("CARGO_BIN_EXE_mldsa"),
        ]);
        shell.args(args!["aggregate init --committee", &place.at("committee")]);
        shell.args(["--store", &place.at(name), "--id", name]);
        shell.output().unwrap()
    };
    for (name, before, after) in [
        ("new", None, Some(0o700)),
        ("empty", Some((0o777, false)), Some(0o700)),
        ("readable", Some((0o755, true)), Some(0o755)),
        ("writable", Some((0o775, true)), None),
    ] {
        let store = place.0.join(name);
        if let Some((mode, has_file)) = before {
            fs::create_dir(&store).unwrap();
            if has_file {
                fs::write(store.join("file"), b"").unwrap();
            }
            fs::set_permissions(&store, fs::Permissions::from_mode(mode)).unwrap();
        }
        let run = init(name);
        let Some(after) = after else {
            assert_eq!(run.status.code(), Some(2));
            let why = String::from_utf8(run.stderr).unwrap();
            assert!(why.contains(name) && why.contains("chmod 700"), "{why}");
            assert_eq!(fs::read_dir(&store).unwrap().count(), 1);
            continue;
        };
        assert!(run.status.success());
        assert_eq!(mode(&store), after);
        for file in ["secret", "guard-0.log", "guard-0.mark"] {
            assert_eq!(mode(&store.join(file)), 0o600, "{file}");
        }
    }
    refused(&place.own("init", 0, &args!["--id", &""]), "1 to 64 bytes");
    assert!(!Path::new(&place.at("member-0")).exists());
}

/// Otherwise the new seed could acknowledge a second list for its member.
#[test]
fn a_rotated_seed_serves_no_epoch_of_the_old_one() {
    let place = Place::new("rotation");
    place.agreed("1");
    place.agreed("2");
    let store = place.at("member-0");
    let rotate = |epoch: &str| place.step(&args!["rotate --store", &store, "--epoch", epoch]);
    // The second epoch has begun.
    refused(&rotate("1"), "epoch 2");
    good(&place.own("agree", 0, &args!["--epoch 2"]));
    good(&rotate("2"));
    let served = || {
        refused(
            &place.own("agree", 0, &args!["--epoch 2"]),
            "epoch is closed",
        )
    };
    served();
    // A power failure before the new guard was made: the old epochs stay closed, with either command
    // that completes the store and for any epoch.
    for complete in ["init", "rotate"] {
        let secret = Path::new(&store).join("secret");
        let mut bytes = fs::read(&secret).unwrap();
        bytes[8] = 0;
        fs::write(&secret, bytes).unwrap();
        for name in ["log", "mark"] {
            fs::remove_file(Path::new(&store).join(format!("guard-1.{name}"))).unwrap();
        }
        refused(&place.own("agree", 0, &args!["--epoch 2"]), "incomplete");
        match complete {
            "init" => good(&place.own("init", 0, &args!["--id m0"])),
            _ => good(&rotate("1")),
        }
        served();
    }
    // The next seed serves no closed epoch either.
    good(&place.step(&args!["close --store", &store, "--epoch 7"]));
    refused(&rotate("3"), "epoch 7");
}

/// Concurrent and interrupted commands, with any options.
#[test]
fn a_store_is_made_and_rotated_by_one_process() {
    let place = Place::new("one");
    let committee = place.at("committee");
    fs::create_dir(place.at("card")).unwrap();
    // One store with several marks at once.
    for round in 0..6 {
        let (store, id) = (place.at(&format!("s{round}")), format!("s{round}"));
        let marks = ["a", "b", "c"].map(|n| place.at(&format!("card/{round}-{n}")));
        let args = marks
            .each_ref()
            .map(|mark| ["--store", &*store, "--id", &*id, "--mark", mark]);
        let made = place.race(args.each_ref().map(|args| &args[..]));
        assert_eq!(made.into_iter().filter(|made| *made).count(), 1);
        good(&place.step(&args!["close --store", &store, "--epoch 1"]));
    }
    let mark = place.at("card/m");
    good(&place.own("init", 0, &args!["--id m0 --mark", &mark]));
    let store = place.at("member-0");
    let rotate = |epoch: &str| place.step(&args!["rotate --store", &store, "--epoch", epoch]);
    // The next mark belongs to another guard: checked while the old seed exists.
    fs::write(place.at("card/m.1"), b"another guard's").unwrap();
    refused(&rotate("1"), "m.1: exists");
    good(&place.step(&args!["close --store", &store, "--epoch 1"]));
    fs::remove_file(place.at("card/m.1")).unwrap();
    good(&rotate("1"));
    // Killed before the secret recorded the guard: name and mark stay.
    let secret = Path::new(&store).join("secret");
    let mut bytes = fs::read(&secret).unwrap();
    bytes[8] = 0;
    fs::write(&secret, bytes).unwrap();
    let kept = fs::read(place.at("member-0/mark-path")).unwrap();
    let other = place.at("card/other");
    for (id, why) in [("wrong", "another member"), ("m0", "m.1: is the mark")] {
        refused(&place.own("init", 0, &["--id", id, "--mark", &other]), why);
        assert_eq!(fs::read(place.at("member-0/mark-path")).unwrap(), kept);
        assert_eq!(fs::read(place.at("member-0/id")).unwrap(), b"m0");
    }
    good(&rotate("2"));
    good(&place.step(&args!["close --store", &store, "--epoch 3"]));
    // Killed before there was a secret.
    fs::create_dir(place.at("begun")).unwrap();
    fs::write(place.at("begun/id"), "m9").unwrap();
    let begun = place.at("begun");
    let args = args!["init --committee", &committee, "--store", &begun, "--id"];
    refused(&place.step(&args![..args, "m8"]), "another member");
    assert_eq!(fs::read(place.at("begun/id")).unwrap(), b"m9");
    good(&place.step(&args![..args, "m9"]));
    // A secret that is elsewhere for now.
    let [secret, away] = ["begun/secret", "away"].map(|name| place.at(name));
    let files = || {
        let entries = fs::read_dir(place.at("begun")).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name());
        let mut files: Vec<_> = names.filter(|name| name != "lock").collect();
        files.sort();
        files
    };
    let before = files();
    fs::rename(&secret, &away).unwrap();
    let fresh = place.at("fresh");
    let args = args!["init --committee", &fresh, "--store", &begun, "--id m9"];
    refused(&place.step(&args), "its secret is gone");
    fs::rename(&away, &secret).unwrap();
    assert_eq!(files(), before);
    good(&place.step(&args!["close --store", &begun, "--epoch 1"]));
    // A full disk: existing files stay, and no file is added.
    #[cfg(unix)]
    {
        let full = |args: &[&str]| {
            let mut shell = std::process::Command::new("sh");
            let script = "ulimit -f 0; exec \"$@\" 2>/dev/null";
            shell.args(["-c", script, "sh", env!("CARGO_BIN_EXE_mldsa"), "aggregate"]);
            assert_eq!(
                shell.args(args).status().unwrap().code(),
                Some(2),
                "{args:?}"
            );
        };
        let new = place.at("new");
        full(&args![
            "init --committee",
            &committee,
            "--store",
            &new,
            "--id new"
        ]);
        full(&args![
            "init --committee",
            &new,
            "--store",
            &place.at("new-2"),
            "--id new"
        ]);
        full(&args![
            "plan --committee",
            &committee,
            "--content",
            &"slot 7"
        ]);
        full(&args!["rotate --store", &store, "--epoch 3"]);
        for name in ["new", "new-2", "committee/epoch-1"] {
            assert!(!place.0.join(name).exists(), "{name}");
        }
    }
    good(&place.step(&args![
        "plan --committee",
        &committee,
        "--content",
        &"slot 7"
    ]));
    good(&rotate("3"));
    // A committee that cannot be made.
    let [payload, own] = ["payload/committee", "own/store"].map(|name| place.at(name));
    let args = args!["init --committee", &payload, "--store", &own, "--id m1"];
    refused(&place.step(&args), "payload/committee");
    assert!(!place.0.join("own").exists());
}

/// A name belongs to the member that registered it first; an interrupted `init` can be repeated.
#[test]
fn a_registration_is_not_replaced() {
    let place = Place::new("names");
    place.agreed("1");
    let registration = Path::new(&place.at("committee")).join("registrations/6d30");
    let first = fs::read(&registration).unwrap();
    refused(&place.own("init", 7, &args!["--id m0"]), "m0");
    assert_eq!(fs::read(&registration).unwrap(), first);
    good(&place.member("open", 0, &[]));
    // No file is left, so that another name can be used.
    assert!(!Path::new(&place.at("member-7")).exists());
    good(&place.own("init", 7, &args!["--id m7"]));
    // Of two concurrent requests one succeeds.
    let committee = place.at("committee");
    for round in 0..6 {
        let id = format!("twin-{round}");
        let [a, b] = ["a", "b"].map(|twin| place.at(&format!("{id}-{twin}")));
        let good = place.race([&["--store", &a, "--id", &id], &["--store", &b, "--id", &id]]);
        assert!(good[0] != good[1], "{good:?}");
        // No file of the other one is left.
        assert_eq!([a, b].map(|store| Path::new(&store).exists()), good);
    }
    // A member of the same name in another committee is rejected.
    let (elsewhere, stranger) = (place.at("elsewhere"), place.at("stranger"));
    let its = ["--store", &stranger];
    good(&place.step(&args!["init --committee", &elsewhere, "--id m0", ..its]));
    let root = Path::new(&committee).join("epoch-1/roots/6d30");
    let before = fs::read(&root).unwrap();
    let spoken = place.step(&args!["root --committee", &committee, ..its]);
    refused(&spoken, "another key of m0");
    assert_eq!(fs::read(&root).unwrap(), before);
    // Secrets are not written into the shared directory.
    let shared = place.step(&[
        "init",
        "--committee",
        &committee,
        "--store",
        &format!("{committee}/."),
        "--id",
        "m8",
    ]);
    refused(&shared, "name two directories");
    assert!(!Path::new(&committee).join("secret").exists());
    // Under any other name, inside it or around it; no directory is made.
    for (committee, store) in [
        ("committee", "committee/me"),
        ("committee", "committee/epoch-1"),
        ("committee", "new/../committee/registrations"),
        ("new", "other/../new"),
        ("new", "new/me"),
        ("new/registrations", "new"),
        ("member-0/shared", "member-0"),
        // A link to what is not there yet.
        #[cfg(unix)]
        ("link", "other"),
        #[cfg(unix)]
        ("link", "other/me"),
    ] {
        #[cfg(unix)]
        if committee == "link" && !place.0.join("link").is_symlink() {
            std::os::unix::fs::symlink("other", place.0.join("link")).unwrap();
        }
        let [shared, own] = [committee, store].map(|name| place.at(name));
        let args = args!["init --committee", &shared, "--store", &own, "--id m8"];
        refused(&place.step(&args), "neither in the other");
        assert!(!place.0.join("new").exists() && !place.0.join("other").exists());
        assert!(!Path::new(&own).join("id").exists() || store == "member-0");
    }
    // Killed before its registration was there, or before the guard was.
    let registered = Path::new(&place.at("committee")).join("registrations/6d39");
    good(&place.own("init", 9, &args!["--id m9"]));
    let key = |bytes: &[u8]| bytes[8 + 4 + 2..][..2592].to_vec();
    let own = fs::read(&registered).unwrap();
    let secret = Path::new(&place.at("member-9")).join("secret");
    let mut bytes = fs::read(&secret).unwrap();
    bytes[8] = 0;
    fs::write(&secret, bytes).unwrap();
    fs::remove_file(&registered).unwrap();
    good(&place.own("init", 9, &args!["--id m9"]));
    assert_eq!(key(&fs::read(&registered).unwrap()), key(&own));
    refused(&place.own("init", 9, &args!["--id m9"]), "the store exists");
}

/// Restored and deleted files of a store.
#[test]
fn a_store_without_guard_does_not_sign() {
    let place = Place::new("restore");
    place.agreed("1");
    good(&place.member("open", 0, &[]));
    for n in 1..3 {
        good(&place.member("open", n, &[]));
    }
    let backup = |name: &str| fs::read(place.at(name)).unwrap();
    let log = backup("member-0/guard-0.log");
    good(&place.member("commit", 0, &[]));
    let newer = backup("member-0/guard-0.log");
    // An older log under the present mark.
    fs::write(place.at("member-0/guard-0.log"), &log).unwrap();
    refused(&place.member("commit", 0, &[]), "guard failed");
    fs::write(place.at("member-0/guard-0.log"), &newer).unwrap();
    good(&place.member("commit", 0, &[]));
    // No guard at all: neither a step nor `init` makes another.
    for name in ["member-0/guard-0.log", "member-0/guard-0.mark"] {
        fs::remove_file(place.at(name)).unwrap();
    }
    refused(&place.member("commit", 0, &[]), "make a new member");
    refused(&place.own("init", 0, &args!["--id m0"]), "the store exists");
    refused(&place.member("commit", 0, &[]), "make a new member");
    fs::remove_file(place.at("member-0/id")).unwrap();
    let mark = place.at("another-mark");
    for (id, more) in [("m0", &[][..]), ("mx", &["--mark", &mark])] {
        let run = place.own("init", 0, &[&["--id", id], more].concat());
        refused(&run, "the store exists");
    }
    for name in ["member-0/id", "member-0/mark-path"] {
        assert!(!Path::new(&place.at(name)).exists());
    }
    refused(&place.member("commit", 0, &[]), "member-0/id");
    fs::write(place.at("member-0/id"), "m0").unwrap();
    refused(&place.member("commit", 0, &[]), "make a new member");
    // Another mark does not change that.
    refused(
        &place.own("init", 2, &args!["--id m2 --mark", &mark]),
        "the store exists",
    );
    good(&place.member("open", 2, &[]));
    // A secret of the version before, without the marker.
    let secret = backup("member-1/secret");
    fs::write(place.at("member-1/secret"), &secret[13..]).unwrap();
    refused(&place.own("init", 1, &args!["--id m1"]), "older version");

    // With the mark elsewhere, a restore of the whole store is detected. The generation is appended to
    // its name, so a directory is rejected.
    let elsewhere = place.at("mark-of-m9");
    for (mark, why) in [
        (place.at("member-0"), "is a directory"),
        (place.at("nowhere/mark"), "no directory that exists"),
    ] {
        refused(&place.own("init", 9, &args!["--id m9 --mark", &mark]), why);
        assert!(!Path::new(&place.at("member-9")).exists());
    }
    good(&place.own("init", 9, &args!["--id m9 --mark", &elsewhere]));
    assert!(!Path::new(&place.at("member-9/guard-0.mark")).exists());
    let log = backup("member-9/guard-0.log");
    good(&place.step(&args!["close --store", &place.at("member-9"), "--epoch 1"]));
    fs::write(place.at("member-9/guard-0.log"), &log).unwrap();
    let again = place.step(&args!["close --store", &place.at("member-9"), "--epoch 2"]);
    refused(&again, "guard failed");
    // One mark serves one store.
    let registered = |id: &str| {
        let directory = Path::new(&place.at("committee")).join("registrations");
        directory.join(hex::encode(id)).exists()
    };
    let taken = place.own("init", 8, &args!["--id m8 --mark", &elsewhere]);
    refused(&taken, "mark-of-m9.0: exists");
    assert!(!Path::new(&place.at("member-8")).exists() && !registered("m8"));
    // Of two concurrent requests one succeeds, and its guard works.
    let committee = place.at("committee");
    for round in 0..6 {
        let mark = place.at(&format!("mark-{round}"));
        let names = ["a", "b"].map(|twin| format!("twin-{round}-{twin}"));
        let [a, b] = names.each_ref().map(|name| place.at(name));
        let made = place.race([
            &["--store", &a, "--id", &names[0], "--mark", &mark],
            &["--store", &b, "--id", &names[1], "--mark", &mark],
        ]);
        assert!(made[0] != made[1], "{made:?}");
        for (name, made) in names.iter().zip(made) {
            assert_eq!(registered(name), made);
            let closed = place.step(&args!["close --epoch 1 --store", &place.at(name)]);
            assert_eq!(closed.code, if made { 0 } else { 2 });
            assert_eq!(Path::new(&place.at(name)).exists(), made);
        }
        // The other process succeeds with a mark of its own.
        let name = &names[usize::from(made[0])];
        let [own, mark] = [name, &format!("mark-of-{name}")].map(|name| place.at(name));
        let args = args!["init --committee", &committee, "--store", &own];
        good(&place.step(&args![..args, "--id", name, "--mark", &mark]));
    }
    // A mark in the store or in the shared directory is rejected.
    // With the appended generation.
    for (store, inside) in [
        ("member-8", "member-8/mark"),
        ("member-8", "committee/mark"),
        ("member-8", "committee/registrations/mark"),
        ("card.0", "card"),
        ("card.0/member-8", "card"),
    ] {
        let [own, mark] = [store, inside].map(|name| place.at(name));
        let args = args!["init --committee", &committee, "--store", &own];
        let run = place.step(&args![..args, "--id m8 --mark", &mark]);
        refused(&run, "a file elsewhere");
        assert!(!Path::new(&own).exists());
    }
    good(&place.own("init", 8, &args!["--id m8 --mark", &place.at("mark-of-m8")]));
}
