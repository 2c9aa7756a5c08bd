//! Members that are killed after each change of a file, over two epochs with a change of members and an
//! epoch without agreement.

use core::time::Duration;
use std::collections::BTreeSet;
use std::path::Path;
use std::process::Child;
use std::thread;

use super::members::line;
use super::*;

/// Names and lengths of all files.
fn files(folder: &Path, found: &mut BTreeSet<(PathBuf, u64)>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        match entry.metadata() {
            Ok(metadata) if metadata.is_dir() => files(&path, found),
            Ok(metadata) => drop(found.insert((path, metadata.len()))),
            Err(_) => {}
        }
    }
}

impl Place {
    fn start(&self, args: &str) -> Child {
        let mut command = self.command(args);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().unwrap()
    }

    /// Runs a command of a member again and again: killed after its first change of a file, then
    /// after its second one, until it ends by itself with success. Counts the kills.
    fn killed(&self, args: &str, kills: &mut usize) -> Run {
        for changes in 1.. {
            let mut seen = BTreeSet::new();
            files(&self.path(""), &mut seen);
            let mut child = self.start(args);
            let mut left = changes;
            while left > 0 && child.try_wait().unwrap().is_none() {
                let mut now = BTreeSet::new();
                files(&self.path(""), &mut now);
                if now != seen {
                    seen = now;
                    left -= 1;
                } else {
                    thread::sleep(Duration::from_micros(200));
                }
            }
            if left == 0 {
                let _ = child.kill();
            }
            let output = child.wait_with_output().unwrap();
            if output.status.code().is_none() {
                *kills += 1;
                continue;
            }
            return Run::from(output);
        }
        unreachable!()
    }

    /// Temporary files in the directories of the committee and of the killed member.
    fn temporary(&self) -> Vec<PathBuf> {
        let mut found = BTreeSet::new();
        for folder in ["committee", "member-0"] {
            files(&self.path(folder), &mut found);
        }
        let paths = found.into_iter().map(|(path, _)| path);
        let is_temporary = |path: &PathBuf| {
            path.extension()
                .is_some_and(|extension| extension == "tmp" || extension == "next")
        };
        paths.filter(is_temporary).collect()
    }

    /// `join`, `agree` and `sign` of an epoch, in which the first member is killed again and again.
    fn survives(&self, epoch: usize, members: &[usize], kills: &mut usize) {
        let names: Vec<String> = members.iter().map(|n| format!("m{n}")).collect();
        let join = |n: usize| {
            let names = names.join(",");
            let plan = format!("--members {names} --attempts 64 --epoch {epoch}");
            own("join", n, &format!("--id m{n} {plan}"))
        };
        let others = &members[1..];
        let running: Vec<Child> = others.iter().map(|n| self.start(&join(*n))).collect();
        let good = |run: Run| assert_eq!(run.code, 0, "{}", run.stderr);
        good(self.killed(&join(members[0]), kills));
        for child in running {
            good(child.wait_with_output().unwrap().into());
        }
        let status = self.good(&format!("status --store member-{}", members[0]));
        let digest = line(&status, "roots");
        let agree = |n: usize| format!("agree --store member-{n} --expect-roots {digest}");
        good(self.killed(&agree(members[0]), kills));
        others.iter().for_each(|n| drop(self.good(&agree(*n))));
        let sign = |n: usize| {
            let more = format!("--payload payload --attempt-timeout 3 --out decision-{epoch}-{n}");
            format!("sign --store member-{n} {more}")
        };
        let running: Vec<Child> = others.iter().map(|n| self.start(&sign(*n))).collect();
        // A killed command can have made its result, which no later one replaces.
        let signed = self.killed(&sign(members[0]), kills);
        assert!(
            signed.code == 0 || signed.stderr.contains("exists"),
            "{}",
            signed.stderr
        );
        for child in running {
            good(child.wait_with_output().unwrap().into());
        }
        let identity = self.status(epoch, "committee");
        let first = self.get(&format!("decision-{epoch}-{}", members[0]));
        for n in others {
            assert_eq!(self.get(&format!("decision-{epoch}-{n}")), first);
        }
        self.good(&format!(
            "verify --committee committee --store verifier --epoch {epoch} --payload payload \
             --certificate decision-{epoch}-{} --identity {identity}",
            members[0]
        ));
    }
}

#[test]
fn killed_members_continue_over_epochs() {
    let place = Place::new("kills");
    let mut kills = 0;
    place.survives(1, &[0, 1, 2], &mut kills);
    // An epoch on which the members do not agree.
    let plan = "--members m0,m1,m2 --epoch 2";
    let join = |n: usize| place.start(&own("join", n, plan));
    for child in [0, 1, 2].map(join) {
        assert!(child.wait_with_output().unwrap().status.success());
    }
    place.good(&own(
        "agree",
        0,
        &format!("--expect-roots {}", place.status(2, "roots")),
    ));
    // Another member replaces the second one.
    place.survives(3, &[0, 2, 3], &mut kills);
    // Their number depends on how soon this process sees the changes.
    println!("{kills} kills");
    assert!(kills > 0);
    // Every command has removed what the earlier ones of its member have left, in the directories that
    // it writes into.
    place.good("rotate --store member-0 --epoch 3");
    assert_eq!(place.temporary(), [] as [PathBuf; 0]);
}
