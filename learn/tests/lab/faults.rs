//! Faults without what differs between two compilers: the instruction, its line in the PTX, and the source's column; how many there are, and
//! where threads wait that are not at a barrier.

use serde_json::Value;

/// The sentences of an answer's faults.
pub(crate) fn sentences_of(answer: &Value) -> Vec<String> {
    let sentences = answer["sentences"].as_array().into_iter().flatten();
    sentences.filter_map(Value::as_str).map(plain).collect()
}

/// A sentence without PTX, columns, the count and what follows a barrier.
fn plain(sentence: &str) -> String {
    const BARRIER: &str = " at this barrier";
    let mut text = String::new();
    let mut rest =
        sentence.rsplit_once("; ").filter(|(_, last)| last.ends_with(" in all")).map_or(sentence, |(all, _)| all);
    rest = rest.find(BARRIER).map_or(rest, |start| &rest[..start + BARRIER.len()]);
    while let Some((before, after)) = rest.split_once("PTX line ") {
        text += before;
        // `PTX line 12 `ld.global…` (file.rs:3:4)`
        rest = after.splitn(3, '`').nth(2).unwrap_or_default();
    }
    text += rest;
    let mut parts = text.split(".rs:");
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (place, after) = part.split_once(')').unwrap_or((part, ""));
        plain += &format!(".rs:{}){after}", place.split(':').next().unwrap_or_default());
    }
    plain
}

/// The files and lines of an answer's faults: those of the call where a fault is in a function of `cuda_std`.
pub(crate) fn lines_of(answer: &Value) -> Vec<String> {
    let line = |place: &Value| {
        let sources = std::iter::successors(Some(&place["source"]), |source| Some(&source["inlined_at"]));
        let mut sources = sources.take_while(|source| source.is_object()).filter_map(|source| {
            let file =
                source["file"].as_str().filter(|file| !file.starts_with("cuda_std/") && !file.starts_with("core/"))?;
            Some(format!("{file}:{}", source["line"]))
        });
        sources.next().unwrap_or_else(|| "nowhere".to_owned())
    };
    let faults = answer["check"]["faults"].as_array().into_iter().flatten();
    faults.map(|fault| line(&fault["place"])).collect()
}
