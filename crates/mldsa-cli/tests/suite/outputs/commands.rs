//! No command writes into a file that it reads.

use super::*;

/// Commands, arguments, files that they read, options that name results. `@` is the folder.
const COMMANDS: &str = "\
keygen | --set 44 --seed-file @/seed --force | @/seed | --out --pub
convert | @/key --force | @/key | --out
pubkey | @/key --force | @/key | --out
inspect | @/key | @/key |
sign | -k @/key --hex --force @/payload | @/key @/payload | --out
verify | -k @/key -s @/sig @/payload | @/key @/sig @/payload |
mu | -k @/key --force @/payload | @/key @/payload | --out
note keygen | name --encrypt --new-password-file @/seed --force | @/seed | --out
note cosign | name -k @/key --force @/payload | @/key @/payload | --out
note verify | --policy @/key --entry @/sig @/payload | @/key @/sig @/payload |
certificate issue | @/key --name localhost --root @/root --force | @/key | --out
certificate request | @/key --name localhost --force | @/key | --out
batch-verify | @/payload | @/payload |
batch-sign | @/payload | @/payload |
backends | | |
completions | bash | |
man | @/nowhere | |";

/// The commands that the tool itself lists.
fn commands(of: &str) -> Vec<String> {
    let args: Vec<&str> = of.split_whitespace().chain(["--help"]).collect();
    let help = good(&args, b"").stdout;
    let listed = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    listed
        .take_while(|line| !line.is_empty())
        .filter(|line| line.starts_with("  ") && !line.starts_with("   "))
        .map(|line| line.split_whitespace().next().unwrap())
        .filter(|name| *name != "help")
        .flat_map(|name| {
            let name = format!("{of} {name}").trim().to_owned();
            let inner = commands(&name);
            if inner.is_empty() { vec![name] } else { inner }
        })
        .collect()
}

#[test]
fn no_command_writes_into_its_inputs() {
    let folder = Folder::new("outputs-commands");
    let table = COMMANDS.replace('@', folder.0.to_str().unwrap());
    let rows: Vec<[Vec<&str>; 4]> = table
        .lines()
        .map(|row| {
            let cells = row.split('|').map(|cell| cell.split_whitespace().collect());
            cells.collect::<Vec<_>>().try_into().unwrap()
        })
        .collect();
    let mut listed = commands("");
    listed.sort();
    let mut in_table: Vec<String> = rows.iter().map(|row| row[0].join(" ")).collect();
    in_table.sort();
    assert_eq!(listed, in_table);

    let mut files: Vec<&str> = rows.iter().flat_map(|row| row[2].clone()).collect();
    files.sort();
    files.dedup();
    for file in &files {
        fs::create_dir_all(std::path::Path::new(file).parent().unwrap()).unwrap();
        fs::write(file, file).unwrap();
    }
    let everything = || {
        files
            .iter()
            .all(|file| fs::read(file).unwrap() == file.as_bytes())
    };
    let mut tried = 0;
    let mut rejected = |args: &[&str], to: &str| {
        let log = File::options().append(true).open(to).unwrap();
        let output = Command::new(env!("CARGO_BIN_EXE_mldsa"))
            .args(args)
            .stdin(Stdio::null())
            .stdout(log)
            .stderr(Stdio::piped())
            .output()
            .unwrap();
        let text = String::from_utf8(output.stderr).unwrap();
        assert!(everything(), "{args:?} > {to} changed an input");
        assert!(text.contains("is an input"), "{args:?} > {to}: {text}");
        assert_eq!(output.status.code(), Some(2), "{args:?} > {to}");
        tried += 1;
    };
    for [command, arguments, inputs, results] in &rows {
        let args = args![..command, ..arguments];
        let appends = command.ends_with(&["sign"]);
        for input in inputs {
            let (hard, soft) = (folder.at("hard"), folder.at("soft"));
            fs::hard_link(input, &hard).unwrap();
            symlink(input, &soft).unwrap();
            // An option of a result: the input, its other names, and standard output that is one.
            for option in results {
                for name in [*input, &hard, &soft] {
                    rejected(&args![..args, option, name], "/dev/null");
                }
                for name in ["-", "/dev/stdout"] {
                    rejected(&args![..args, option, name], &hard);
                }
            }
            if !appends {
                rejected(&args, input);
                rejected(&args, &hard);
            }
            fs::remove_file(hard).unwrap();
            fs::remove_file(soft).unwrap();
        }
    }
    assert!(tried > 60, "{tried}");
}
