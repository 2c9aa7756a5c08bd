//! No two files need each other.

use std::collections::BTreeMap;

use super::*;

/// The modules that a file of the crate at `source` declares outside tests, those of
/// a folder before the module that opens it.
fn declared(source: &Path, file: &Path, parent: &[String]) -> Vec<Vec<String>> {
    let text = read(file);
    let mut order = Vec::new();
    let mut for_tests = false;
    for line in text.lines().map(str::trim) {
        let name = line
            .trim_start_matches("pub ")
            .trim_start_matches("pub(crate) ")
            .trim_start_matches("pub(super) ")
            .strip_prefix("mod ")
            .and_then(|rest| rest.strip_suffix(';'));
        if let Some(name) = name
            && !for_tests
        {
            let mut path = parent.to_vec();
            path.push(name.to_owned());
            order.extend(declared(source, &file_of(source, &path), &path));
            order.push(path);
        }
        let attribute = line.starts_with("#[");
        for_tests = attribute && (for_tests || line.starts_with("#[cfg(") && line.contains("test"));
    }
    order
}

/// The file of a module. Modules of the backends without a file of their own are compiled from
/// `backend/eight` or `backend/four` (attribute `path`).
fn file_of(source: &Path, module: &[String]) -> PathBuf {
    let file = source.join(module.iter().collect::<PathBuf>().with_extension("rs"));
    let shared = ["backend/eight", "backend/four"].map(|folder| {
        let name = module.last().map_or("lib", String::as_str);
        source.join(folder).join(name).with_extension("rs")
    });
    let mut places = [file.clone()].into_iter().chain(shared);
    places.find(|place| place.is_file()).unwrap_or(file)
}

/// The `crate::` and `super::` paths in the file of `module` outside comments, as full
/// paths.
fn used_paths(text: &str, module: &[String]) -> Vec<Vec<String>> {
    let code: Vec<&str> = text
        .lines()
        .filter(|line| !line.trim_start().starts_with("//"))
        .collect();
    let code = code.join("\n");
    let mut paths = Vec::new();
    for (at, _) in code.match_indices("crate::") {
        if !code[..at].ends_with(|c: char| c.is_alphanumeric() || "_$".contains(c)) {
            expand(&code[at + "crate::".len()..], &[], &mut paths);
        }
    }
    for (at, _) in code.match_indices("super::") {
        if !code[..at].ends_with("super::") {
            let rest = &code[at..];
            let ups = rest.split("super::").take_while(|piece| piece.is_empty());
            let ups = ups.count().min(module.len());
            expand(
                &rest[ups * "super::".len()..],
                &module[..module.len() - ups],
                &mut paths,
            );
        }
    }
    paths
}

/// The paths of a use tree below `prefix`, two segments deep at most.
fn expand(tree: &str, prefix: &[String], paths: &mut Vec<Vec<String>>) {
    if let Some(list) = tree.strip_prefix('{') {
        let mut depth = 0;
        let mut start = true;
        for (at, byte) in list.bytes().enumerate() {
            match byte {
                b'{' => depth += 1,
                b'}' if depth == 0 => break,
                b'}' => depth -= 1,
                b',' if depth == 0 => start = true,
                b' ' | b'\n' => {}
                _ if start => {
                    expand(&list[at..], prefix, paths);
                    start = false;
                }
                _ => {}
            }
        }
        return;
    }
    let name = word(tree);
    let mut path = prefix.to_vec();
    match tree[name.len()..].strip_prefix("::") {
        Some(below) if path.len() < 2 && name != "self" => {
            path.push(name);
            expand(below, &path, paths);
        }
        _ => {
            if name != "self" && !name.is_empty() {
                path.push(name);
            }
            paths.push(path);
        }
    }
}

/// In no crate do two files need each other, directly or through others, outside
/// tests. What a file takes from the one that opens its folder does not count.
#[test]
fn no_files_in_a_circle() {
    let crates = source().join("../..");
    for entry in fs::read_dir(&crates).expect("the folder of the crates") {
        let folder = entry.expect("an entry").path().join("src");
        let needs = needs(&folder);
        assert!(
            circle(&needs).is_none(),
            "{}: {:?}",
            folder.display(),
            circle(&needs)
        );
        // Planted: any file needs one that needs it.
        let uses = needs.iter().find(|(_, used)| !used.is_empty());
        if let Some((user, used)) = uses.map(|(user, used)| (user.clone(), used[0].clone())) {
            let mut needs = needs;
            needs.entry(used).or_default().push(user);
            assert!(circle(&needs).is_some(), "{}", folder.display());
        }
    }
}

type Needs = BTreeMap<Vec<String>, Vec<Vec<String>>>;

/// The modules of a crate, and of each those that it uses.
fn needs(folder: &Path) -> Needs {
    let roots = ["lib.rs", "main.rs"].map(|name| folder.join(name));
    let root = roots.iter().find(|root| root.is_file()).expect("a root");
    let modules = declared(folder, root, &[]);
    // Re-exports of the root, by their origin.
    let mut renamed = BTreeMap::new();
    let text = read(root);
    for line in outside_tests(&text).split("use ").skip(1) {
        let mut paths = Vec::new();
        expand(line.trim_start_matches("crate::"), &[], &mut paths);
        for mut path in paths.into_iter().filter(|path| path.len() > 1) {
            let name = path.pop().expect("two segments");
            renamed.insert(name, path);
        }
    }
    let module_with = |path: &[String]| {
        let path = match path.first().and_then(|name| renamed.get(name)) {
            Some(origin) => origin,
            None => path,
        };
        let mut prefixes = (1..=path.len()).rev().map(|len| path[..len].to_vec());
        prefixes.find(|prefix| modules.contains(prefix))
    };
    let mut needs = Needs::new();
    for module in &modules {
        let text = read(&file_of(folder, module));
        let used = used_paths(outside_tests(&text), module);
        let mut used: Vec<_> = used.iter().filter_map(|path| module_with(path)).collect();
        used.retain(|used| !module.starts_with(used));
        let below = |other: &&Vec<String>| other.len() == module.len() + 1;
        let children = modules.iter().filter(below);
        used.extend(children.filter(|other| other.starts_with(module)).cloned());
        needs.insert(module.clone(), used);
    }
    needs
}

/// Modules each of which uses the next, and the last the first.
fn circle(needs: &Needs) -> Option<Vec<Vec<String>>> {
    fn follow(needs: &Needs, way: &mut Vec<Vec<String>>, done: &mut Vec<Vec<String>>) -> bool {
        let here = way.last().expect("a beginning").clone();
        for next in &needs[&here] {
            if let Some(at) = way.iter().position(|module| module == next) {
                way.drain(..at);
                return true;
            }
            if !done.contains(next) {
                way.push(next.clone());
                if follow(needs, way, done) {
                    return true;
                }
                way.pop();
            }
        }
        done.push(here);
        false
    }
    let mut done = Vec::new();
    needs.keys().find_map(|start| {
        let mut way = vec![start.clone()];
        follow(needs, &mut way, &mut done).then_some(way)
    })
}

#[test]
fn the_readers_read() {
    let code = "use crate::{field, poly::{Poly, N}, ntt};\n// crate::no\nlet x = crate::hint::f();";
    let paths = used_paths(code, &[]);
    let paths: Vec<_> = paths.iter().map(|path| path.join("::")).collect();
    assert_eq!(paths, ["field", "poly::Poly", "poly::N", "ntt", "hint::f"]);
    let module = ["ring", "ntt"].map(str::to_owned);
    assert_eq!(
        used_paths("use super::field::X;", &module)[0],
        ["ring", "field", "X"]
    );
    assert_eq!(
        outside_tests("a\n#[cfg(test)]\nuse b;\n#[cfg(test)]\n#[c]\nmod tests {\n}"),
        "a\n#[cfg(test)]\nuse b;\n"
    );
}
