//! The targets can fail: they find planted defects in readers, with the smallest case that shows each.

use std::panic::{RefUnwindSafe, catch_unwind};
use std::sync::Mutex;

use crate::cases::{Answer, run_same};
use crate::edits::{Input, edit_words};

/// The message with which the target for a reader of numbers fails, if it does.
fn failure(name: &'static str, read: impl Fn(&str) -> Answer + RefUnwindSafe) -> Option<String> {
    let reader = |input: &Input| {
        let mut file = b"12 34".to_vec();
        edit_words(&input.words, &mut file);
        read(&String::from_utf8_lossy(&file))
    };
    let failed = catch_unwind(|| run_same(name, 2_000, reader)).err()?;
    Some(failed.downcast_ref::<String>().expect("a panic with a message").clone())
}

fn sum(file: &str) -> Option<i64> {
    file.split(' ').map(str::parse::<i64>).sum::<Result<i64, _>>().ok()
}

#[test]
fn a_planted_defect_is_found_and_its_case_is_made_small() {
    let panic = failure("planted-panic", |file| {
        assert!(!file.contains("4294967296"), "a planted panic");
        sum(file).map_or(Answer::Rejected, |_| Answer::Accepted)
    });
    let panic = panic.expect("the panic is found");
    assert!(panic.contains("a planted panic") && panic.matches("at: ").count() == 1, "one edit is left: {panic}");

    let wrong = failure("planted-round-trip", |file| {
        let Some(number) = sum(file) else { return Answer::Rejected };
        assert_eq!(sum(&number.unsigned_abs().to_string()), Some(number), "what is written is read again");
        Answer::Accepted
    });
    assert!(wrong.expect("the lost sign is found").contains("what is written is read again"));

    assert!(failure("planted-rejection", |_| Answer::Rejected).unwrap().contains("both are tried"));
}

#[test]
fn without_a_defect_the_same_cases_run_each_time() {
    let files = || {
        let files = Mutex::new(String::new());
        let none = failure("no-defect", |file| {
            files.lock().unwrap().push_str(file);
            sum(file).map_or(Answer::Rejected, |_| Answer::Accepted)
        });
        assert_eq!(none, None);
        files.into_inner().unwrap()
    };
    assert!(files() == files());
}
