//! Rows without a date or a group, if the split depends on it.

use command_line::counted;

use super::Finding;
use crate::prepared::time_column;
use crate::settings::SplitOrder;
use crate::table::Role;
use crate::{Settings, Table};

pub(super) fn find(table: &Table, settings: &Settings, used: usize) -> Vec<Finding> {
    let mut findings = Vec::new();
    if settings.split.order == SplitOrder::Time {
        match time_column(table, &settings.data) {
            None => findings.push(
                "order = \"time\", but no column has dates: the rows stay in the file's order, and the last ones are the \
                 test part"
                    .to_owned(),
            ),
            Some(column) => findings.extend(without(table, used, |row| column.number(row).is_none()).map(
                |(rows, first)| {
                    format!(
                        "{rows} {} no date in {}, first {first}: they come before all others, in the training part",
                        if rows == "1 row" { "has" } else { "have" },
                        column.name()
                    )
                },
            )),
        }
    }
    let group = settings.data.columns.iter().find(|(_, role)| **role == Role::Group);
    if let Some(column) = group.and_then(|(name, _)| table.column(name)) {
        findings.extend(without(table, used, |row| column.text(row).is_empty()).map(|(rows, first)| {
            format!(
                "{rows} {} no {}, first {first}: each is taken for a group of its own",
                if rows == "1 row" { "has" } else { "have" },
                column.name()
            )
        }));
    }
    findings.into_iter().map(Finding::new).collect()
}

/// The number of rows that lack a value, and the location of the first.
fn without(table: &Table, used: usize, lacks: impl Fn(usize) -> bool) -> Option<(String, String)> {
    let mut rows = (0..used).filter(|&row| lacks(row));
    let first = rows.next()?;
    Some((counted(1 + rows.count(), "row"), table.place(first)))
}
