//! Formats counts in messages, with the singular for one.

/// "1 thread", "2 threads", "2 launches".
pub fn counted(count: usize, noun: &str) -> String {
    let ending = if noun.ends_with("ch") { "es" } else { "s" };
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}{ending}") }
}

/// "1 thread waits", "2 threads wait".
pub fn waiting(count: usize, noun: &str) -> String {
    format!("{} {}", counted(count, noun), if count == 1 { "waits" } else { "wait" })
}

/// "1 has", "2 have".
pub fn having(count: usize) -> String {
    format!("{count} {}", if count == 1 { "has" } else { "have" })
}
