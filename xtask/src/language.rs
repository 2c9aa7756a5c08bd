//! The language rules that can be searched for (`xtask/language-rules.txt`), over every page and
//! every source file, comments, texts and names alike.
//!
//! `xtask/language-allow.tsv` holds the findings that stay, each with a reason.

use std::fs;
use std::path::{Path, PathBuf};

use crate::{files, root};

const RULES: &str = "xtask/language-rules.txt";
const ALLOWED: &str = "xtask/language-allow.tsv";
const MOST_ALLOWED: usize = 40;
const EXTENSIONS: [&str; 15] = [
    "rs", "md", "c", "cpp", "cs", "go", "h", "java", "mjs", "py", "sh", "sol", "toml", "x", "yml",
];

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

/// Prints the findings; none may remain. Folders: those alone.
pub(crate) fn run(folders: &[String]) -> Result<(), String> {
    let mut findings = findings()?;
    findings.retain(|finding| {
        let mut folders = folders.iter();
        folders.len() == 0 || folders.any(|folder| finding.file.starts_with(folder))
    });
    for finding in &findings {
        println!("{finding}");
    }
    match findings.len() {
        0 => Ok(()),
        count => Err(format!(
            "{count} findings; docs/glossary.md has the words to use"
        )),
    }
}

impl core::fmt::Display for Finding {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let Self {
            line, rule, word, ..
        } = self;
        let (file, text) = (self.file.display(), self.text.trim());
        write!(f, "{file}:{line}: {rule} `{word}`: {text}")
    }
}

/// All findings that no exception allows.
fn findings() -> Result<Vec<Finding>, String> {
    let rules = Rules::read()?;
    let mut exceptions = exceptions()?;
    let mut findings = Vec::new();
    for file in files(&EXTENSIONS) {
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

/// Whether `text` has `word` as a whole word, in upper or lower case, alone or in a name.
fn has_word(text: &str, word: &str) -> bool {
    text.split(|c: char| !c.is_alphanumeric() && c != '-')
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
    fn no_finding_remains() {
        let findings = findings().expect("readable files");
        let shown: Vec<String> = findings.iter().map(ToString::to_string).collect();
        assert!(shown.is_empty(), "{}", shown.join("\n"));
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
        assert!(has_word("fn a_lower_bound()", "lower"));
        assert!(!has_word("lower-case and lowercase", "lower"));
        assert!(is_sentence("/// As before.", "As before."));
        assert!(!is_sentence("costs the same. More", "The same."));
    }
}
