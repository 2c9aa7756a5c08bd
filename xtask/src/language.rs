//! The language rules that can be searched for (`xtask/language-rules.txt`), over every Rust
//! file and every Markdown page.
//!
//! `xtask/language-limits.tsv` holds the greatest number of findings of each part of the tree,
//! and `xtask/language-allow.tsv` the findings that stay, each with a reason.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::{files, part_of, root};

const RULES: &str = "xtask/language-rules.txt";
const LIMITS: &str = "xtask/language-limits.tsv";
const ALLOWED: &str = "xtask/language-allow.tsv";
const MOST_ALLOWED: usize = 40;

/// One finding.
struct Finding {
    file: PathBuf,
    line: usize,
    rule: String,
    word: String,
    text: String,
}

/// An entry of the allow-list: file, a part of the line, reason.
struct Exception {
    file: String,
    part: String,
    used: bool,
}

/// Words by rule.
struct Rules(Vec<(String, Vec<String>)>);

/// Prints the findings and compares their number with the limits. Folders: those alone.
/// `--bless` lowers the limits to what is found.
pub(crate) fn run(arguments: &[String]) -> Result<(), String> {
    let (options, folders): (Vec<_>, Vec<_>) = arguments
        .iter()
        .partition(|argument| argument.starts_with('-'));
    let bless = match options.as_slice() {
        [] => false,
        [option] if *option == "--bless" => true,
        [option, ..] => return Err(format!("`language` has no option `{option}`")),
    };
    let findings = findings()?;
    for finding in &findings {
        if folders.is_empty()
            || folders
                .iter()
                .any(|folder| finding.file.starts_with(folder))
        {
            println!(
                "{}:{}: {} `{}`: {}",
                finding.file.display(),
                finding.line,
                finding.rule,
                finding.word,
                finding.text.trim()
            );
        }
    }
    let counts = counts(&findings);
    let limits = limits()?;
    println!("| part | findings | limit |\n|---|--:|--:|");
    for (part, count) in &counts {
        println!("| {part} | {count} | {} |", limits.get(part).unwrap_or(&0));
    }
    println!("{} findings", findings.len());
    if bless {
        let lowered = counts.iter().map(|(part, &count)| {
            let limit = limits.get(part).map_or(count, |&limit| limit.min(count));
            format!("{part}\t{limit}\n")
        });
        return fs::write(root().join(LIMITS), lowered.collect::<String>())
            .map_err(|error| format!("{LIMITS}: {error}"));
    }
    compare(&counts, &limits)
}

fn compare(
    counts: &BTreeMap<String, usize>,
    limits: &BTreeMap<String, usize>,
) -> Result<(), String> {
    let risen = counts.iter().filter_map(|(part, count)| {
        let limit = limits.get(part).copied().unwrap_or(0);
        (*count > limit).then(|| format!("{part}: {count} findings, at most {limit} are allowed"))
    });
    let risen: Vec<String> = risen.collect();
    if risen.is_empty() {
        Ok(())
    } else {
        Err(format!(
            "{}\n`cargo xtask language PART` lists them; docs/glossary.md has the words to use",
            risen.join("\n")
        ))
    }
}

fn counts(findings: &[Finding]) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for finding in findings {
        *counts.entry(part_of(&finding.file)).or_default() += 1;
    }
    counts
}

/// All findings that no exception allows.
fn findings() -> Result<Vec<Finding>, String> {
    let rules = Rules::read()?;
    let mut exceptions = exceptions()?;
    let mut findings = Vec::new();
    for file in files(&["rs", "md"]) {
        let text = fs::read_to_string(root().join(&file))
            .map_err(|error| format!("{}: {error}", file.display()))?;
        rules.search(&file, &text, &mut findings);
    }
    findings.retain(|finding| {
        let exception = exceptions.iter_mut().find(|exception| {
            finding.file == Path::new(&exception.file) && finding.text.contains(&exception.part)
        });
        exception.is_none_or(|exception| {
            exception.used = true;
            false
        })
    });
    let unused = exceptions.iter().find(|exception| !exception.used);
    unused.map_or(Ok(findings), |unused| {
        Err(format!(
            "{ALLOWED}: no finding for `{}` in {}",
            unused.part, unused.file
        ))
    })
}

fn read(path: &str) -> Result<String, String> {
    fs::read_to_string(root().join(path)).map_err(|error| format!("{path}: {error}"))
}

fn limits() -> Result<BTreeMap<String, usize>, String> {
    let text = read(LIMITS)?;
    let line = |line: &str| {
        let (part, limit) = line.split_once('\t')?;
        Some((part.to_owned(), limit.parse().ok()?))
    };
    text.lines()
        .map(|text| line(text).ok_or_else(|| format!("{LIMITS}: `{text}`")))
        .collect()
}

fn exceptions() -> Result<Vec<Exception>, String> {
    let text = read(ALLOWED)?;
    let line = |line: &str| {
        let mut fields = line.split('\t');
        let (file, part, reason) = (fields.next()?, fields.next()?, fields.next()?);
        (!part.is_empty() && !reason.trim().is_empty()).then(|| Exception {
            file: file.to_owned(),
            part: part.to_owned(),
            used: false,
        })
    };
    let exceptions: Result<Vec<_>, _> = text
        .lines()
        .map(|text| line(text).ok_or_else(|| format!("{ALLOWED}: no reason in `{text}`")))
        .collect();
    let exceptions = exceptions?;
    if exceptions.len() > MOST_ALLOWED {
        return Err(format!(
            "{ALLOWED}: {} entries, at most {MOST_ALLOWED} are allowed",
            exceptions.len()
        ));
    }
    Ok(exceptions)
}

impl Rules {
    fn read() -> Result<Self, String> {
        let text = read(RULES)?;
        let rules = text.lines().filter(|line| !line.starts_with('#'));
        let rules = rules.filter_map(|line| {
            let mut words = line.split_whitespace().map(|word| word.replace('~', " "));
            Some((words.next()?, words.collect()))
        });
        Ok(Self(rules.collect()))
    }

    fn search(&self, file: &Path, text: &str, findings: &mut Vec<Finding>) {
        let markdown = file.extension().is_some_and(|extension| extension == "md");
        // The kind of comment that the line before continues; whether code is quoted.
        let mut paragraph = None;
        let mut quoted = false;
        for (n, line) in text.lines().enumerate() {
            let (kind, content) = comment(line);
            let fence = if markdown { line } else { content };
            if fence.trim_start().starts_with("```") {
                quoted = !quoted;
                continue;
            }
            if markdown && quoted {
                continue;
            }
            let starts = !markdown && !content.is_empty() && paragraph != kind && !quoted;
            paragraph = kind.filter(|_| !content.is_empty());
            for (rule, words) in &self.0 {
                let found = |word: &&String| match rule.as_str() {
                    "opening" => starts && kind == Some("doc") && first_word(content) == *word,
                    "comment" => starts && kind == Some("plain") && first_word(content) == *word,
                    "elliptic" => is_sentence(line, word),
                    _ => has_word(line, word),
                };
                findings.extend(words.iter().filter(found).map(|word| Finding {
                    file: file.into(),
                    line: n + 1,
                    rule: rule.clone(),
                    word: word.clone(),
                    text: line.into(),
                }));
            }
        }
    }
}

/// The kind and the text of a line that is a comment alone.
fn comment(line: &str) -> (Option<&'static str>, &str) {
    let line = line.trim_start();
    for (start, kind) in [("///", "doc"), ("//!", "doc"), ("//", "plain")] {
        if let Some(content) = line.strip_prefix(start) {
            return (Some(kind), content.trim());
        }
    }
    (None, "")
}

fn first_word(text: &str) -> &str {
    text.split(|c: char| !c.is_alphanumeric())
        .next()
        .unwrap_or("")
}

/// Whether `text` has `word` as a whole word, in upper or lower case.
fn has_word(text: &str, word: &str) -> bool {
    text.split(|c: char| !c.is_alphanumeric() && c != '_' && c != '-')
        .any(|found| found.eq_ignore_ascii_case(word))
}

/// Whether `sentence` is a sentence of `text`, not the end of one.
fn is_sentence(text: &str, sentence: &str) -> bool {
    text.match_indices(sentence).any(|(at, _)| {
        let before = text[..at].trim_end();
        before.is_empty() || before.ends_with(['.', ':', ';', '/', '!', '|', ','])
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn findings_stay_below_the_limits() {
        let findings = findings().expect("readable files");
        if let Err(reason) = compare(&counts(&findings), &limits().expect("limits")) {
            panic!("{reason}");
        }
    }

    fn search(name: &str, text: &str) -> Vec<String> {
        let rules = Rules::read().expect("rules");
        let mut findings = Vec::new();
        rules.search(Path::new(name), text, &mut findings);
        let shown = findings.iter();
        shown
            .map(|one| format!("{} {}", one.line, one.rule))
            .collect()
    }

    #[test]
    fn each_rule_finds_its_example() {
        // Written in parts, or the examples would be findings themselves.
        let text = "/// Wh~o signs.\n/// Wh~at follows is no start.\n///\n/// Wh~ere it ends.\n\
            fn a() {}\n// Wh~at it does.\n// Wh~ere it does so.\nlet b = \"no~body\";\n\
            // The queue sta~nds still.\n/// The sa~me.\n";
        assert_eq!(
            search("a.rs", &text.replace('~', "")),
            [
                "1 opening",
                "4 opening",
                "6 comment",
                "8 person",
                "9 place",
                "10 elliptic"
            ]
        );
        let page = "Who~ever waits.\n```\nwho~ever\n```\nWhat follows is a page.\n";
        assert_eq!(search("a.md", &page.replace('~', "")), ["1 person"]);
    }

    #[test]
    fn words_are_whole_words() {
        assert!(has_word("Upper, then", "upper"));
        assert!(!has_word("lower-case and lower_case", "lower"));
        assert!(is_sentence("/// As before.", "As before."));
        assert!(!is_sentence("costs the same. More", "The same."));
    }
}
