//! Counts in messages, in the singular for one.

/// "1 thread", "2 threads".
pub fn counted(count: usize, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
}

/// "1 thread waits", "2 threads wait".
pub fn waiting(count: usize, noun: &str) -> String {
    format!("{} {}", counted(count, noun), if count == 1 { "waits" } else { "wait" })
}

/// "1 has", "2 have".
pub fn having(count: usize) -> String {
    format!("{count} {}", if count == 1 { "has" } else { "have" })
}
