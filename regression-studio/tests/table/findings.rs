//! Findings in a table before training.

use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use regression_studio::findings::{self, Finding, Remedy};
use regression_studio::settings::{DataSettings, Source, SplitOrder};
use regression_studio::table::{Column, Role, Table};
use regression_studio::{Settings, prepare};

const ROWS: usize = 300;

/// Two features and noise, all independent. The columns of a table are functions of them.
struct Row {
    a: f64,
    b: f64,
    noise: f64,
    index: usize,
}

fn rows() -> Vec<Row> {
    let mut rng = ChaCha8Rng::seed_from_u64(80);
    let mut row = |index| Row {
        a: rng.random_range(1.0..50.0),
        b: rng.random_range(1.0..9.0),
        noise: rng.random_range(-1.0..1.0),
        index,
    };
    (0..ROWS).map(&mut row).collect()
}

fn rounded(value: f64, decimals: i32) -> f64 {
    (value * 10_f64.powi(decimals)).round() / 10_f64.powi(decimals)
}

type OfRow = fn(&Row) -> f64;

/// A table with these functions as columns, and settings with the last column as the target.
fn table(columns: &[(&str, OfRow)]) -> (Table, Settings) {
    let rows = rows();
    let column = |(name, of): &(&str, OfRow)| Column::of_numbers(*name, rows.iter().map(of).collect());
    of_columns(columns.iter().map(column).collect())
}

fn of_columns(columns: Vec<Column>) -> (Table, Settings) {
    let mut settings = Settings::default();
    let mut names: Vec<String> = columns.iter().map(|column| column.name().to_owned()).collect();
    settings.data.target = names.pop().unwrap();
    settings.data.features = names;
    (settings.data.log_target, settings.data.log_features) = (false, false);
    (Table::new("a table", columns), settings)
}

fn texts((table, settings): &(Table, Settings)) -> Vec<String> {
    findings::find(table, settings).into_iter().map(|finding| finding.text).collect()
}

/// Ten targets that features determine, with the reported features and the kind of relation.
#[test]
fn features_that_determine_the_target_are_found() {
    let cases: [(OfRow, &str, &str); 10] = [
        (|row| row.a, "a", "they are equal"),
        (|row| rounded(1.8 * row.a + 32.0, 1), "a", "R² of a line 1.0000"),
        (|row| rounded(row.a, 1), "a", "R² of a line 1.0000"),
        (|row| -2.5 * row.a, "a", "R² of a line 1.0000"),
        (|row| row.a.powi(3).ln_1p().exp2(), "a", "it rises with every step of the other"),
        (|row| (60.0 / row.a).sqrt(), "a", "it falls with every step of the other"),
        (|row| rounded(1.19 * row.a + row.b, 2), "a and b", "R² of a weighted sum 1.0000"),
        (|row| row.a - row.b, "a and b", "R² of a weighted sum 1.0000"),
        (|row| rounded(row.a * row.b, 2), "a and b", "R² of a product or ratio 1.0000"),
        (|row| 100.0 - row.a * row.b + 2.0 * row.b, "a and b", "R² of a sum of products 1.0000"),
    ];
    for (target, names, how) in cases {
        let found = texts(&table(&[("a", |row| row.a), ("b", |row| row.b), ("c", |row| row.noise), ("y", target)]));
        let (verb, are) = if names.contains(" and ") { ("determine", "are they") } else { ("determines", "is it") };
        assert_eq!(found, [format!("{names} {verb} y ({how}): {are} known when you predict?")]);
    }
}

/// Ten targets that depend on features and on something else.
#[test]
fn features_that_only_help_are_not_taken_for_leaks() {
    let cases: [OfRow; 10] = [
        |row| row.noise,
        |row| row.a + 2.0 * row.noise,
        |row| 1.8 * row.a + 3.0 * row.b + 2.0 * row.noise,
        |row| row.a * row.b * (1.0 + 0.05 * row.noise),
        |row| row.a * row.a + 20.0 * row.noise,
        |row| (row.a / row.b) * (0.1 * row.noise).exp(),
        |row| rounded(row.a / 10.0 + row.noise, 0) + row.b,
        |row| row.index as f64 + 5.0 * row.noise,
        |row| (row.index % 12) as f64 + 3.0 * row.noise,
        |row| (row.a + row.noise).sqrt() * 10.0 + row.b,
    ];
    for (case, target) in cases.into_iter().enumerate() {
        let found =
            texts(&table(&[("a", |row| row.a), ("b", |row| row.b), ("n", |row| rounded(row.a, 0)), ("y", target)]));
        assert_eq!(found, [""; 0], "case {case}");
    }
}

#[test]
fn a_text_or_a_code_with_one_target_each_is_found() {
    let rows = rows();
    let texts_of: Vec<String> = rows.iter().map(|row| format!("band {}", (row.a / 3.0) as u32)).collect();
    let price: Vec<f64> = rows.iter().map(|row| 9.5 + f64::from((row.a / 3.0) as u32) * 17.25 % 10.0).collect();
    let b: Vec<f64> = rows.iter().map(|row| row.b).collect();
    let of = |price: Vec<f64>| {
        texts(&of_columns(vec![
            Column::of_texts("band", &texts_of),
            Column::of_numbers("b", b.clone()),
            Column::of_numbers("price", price),
        ]))
    };
    let known = "band determines price (rows with the same value have the same target): is it known when you predict?";
    assert_eq!(of(price.clone()), [known]);
    let mut differs = price;
    differs[ROWS / 2] += 0.5;
    assert_eq!(of(differs), [""; 0]);
}

/// Rows that are copies of others carry no evidence for a function.
#[test]
fn repeated_rows_are_no_leak() {
    let four_times = |of: OfRow| -> Vec<f64> { rows().iter().flat_map(|row| [of(row); 4]).collect() };
    let columns = [("x", (|row| rounded(row.a, 1)) as OfRow), ("b", |row| row.b), ("y", |row| row.a + 9.0 * row.noise)];
    let columns = columns.map(|(name, of)| Column::of_numbers(name, four_times(of))).into();
    assert_eq!(texts(&of_columns(columns)), [""; 0]);
}

#[test]
fn identifiers_and_copies_are_found_with_a_remedy() {
    let of_all: [(&str, OfRow); 8] = [
        ("a", |row| row.a),
        ("no", |row| row.index as f64),
        ("CustomerID", |row| 1e6 + (row.index * 7919 % 10_007) as f64),
        ("order id", |row| (row.index * 31 % 300) as f64),
        ("idea", |row| (row.index * 37 % 300) as f64),
        ("person_id", |row| (row.index / 10) as f64),
        ("again", |row| row.a),
        ("y", |row| row.a + 5.0 * row.noise),
    ];
    let (table, settings) = table(&of_all);
    let of_feature = |text: &str, name: &str| Finding {
        text: text.to_owned(),
        remedy: Some(Remedy::RemoveFeature(name.to_owned())),
    };
    let wanted = [
        of_feature("no numbers the rows: as a feature it only tells their order", "no"),
        of_feature("CustomerID identifies the rows: as a feature it says nothing of new ones", "CustomerID"),
        of_feature("order id identifies the rows: as a feature it says nothing of new ones", "order id"),
        of_feature("a and again are equal in every row: one of them is enough", "again"),
    ];
    let found = findings::find(&table, &settings);
    assert_eq!(found, wanted);
    let mut changed = settings.clone();
    found.iter().filter_map(|finding| finding.remedy.as_ref()).for_each(|remedy| remedy.apply(&mut changed));
    assert_eq!(changed.data.features, ["a", "idea", "person_id"]);
    assert_eq!(findings::find(&table, &changed), []);
    // The only feature is not removed.
    changed.data.features = vec!["no".to_owned()];
    assert_eq!(findings::find(&table, &changed), []);
}

/// Cells that mean "missing", and cells that do not.
#[test]
fn sentinels_are_found_and_ordinary_extremes_are_not() {
    let with = |cell: f64, every: usize, of: OfRow| -> Vec<f64> {
        rows().iter().map(|row| if row.index % every == 1 { cell } else { of(row) }).collect()
    };
    let noise = |row: &Row| row.noise;
    let whole: OfRow = |row| rounded(row.a, 0);
    let year: OfRow = |row| 1950.0 + rounded(row.a, 0);
    let percent: OfRow = |row| 2.0 * row.a;
    let found: [(f64, usize, OfRow); 8] = [
        (-999.0, 9, whole),
        (9999.0, 40, |row| row.a),
        (0.0, 20, year),
        (-1.0, 3, whole),
        (99.0, 30, |row| row.b),
        (-9999.0, 1000, |row| row.a),
        (1e20, 50, |row| row.a - row.b),
        (999.0, 5, |row| rounded(13.0 * row.a, 0)),
    ];
    let ordinary: [(f64, usize, OfRow); 8] = [
        (0.0, 20, whole),
        (-1.0, 40, |row| rounded(row.a - 20.0, 0)),
        (99.0, 30, percent),
        (100.0, 5, percent),
        (999.0, 40, |row| 40.0 * row.a),
        (-1.0, 100, whole),
        (500.0, 100, whole),
        (3.0, 2, |row| row.b),
    ];
    let of = |(cell, every, of): (f64, usize, OfRow)| {
        let target: Vec<f64> = rows().iter().map(noise).collect();
        of_columns(vec![Column::of_numbers("x", with(cell, every, of)), Column::of_numbers("y", target)])
    };
    for case in found {
        let (table, mut settings) = of(case);
        let [finding] = &findings::find(&table, &settings)[..] else { panic!("{}: not one", case.0) };
        let count = table.column("x").unwrap().numbers().unwrap().iter().filter(|x| **x == case.0).count();
        let counted = if count == 1 { "1 row".to_owned() } else { format!("{count} rows") };
        let cell = table.column("x").unwrap().text(1).into_owned();
        let text = format!(
            "x is {cell} in {counted}, far from all others: is it missing there? Then declare it in [data.missing]: x = \
             [{cell:?}]"
        );
        assert_eq!(finding.text, text);
        finding.remedy.as_ref().unwrap().apply(&mut settings);
        let table = table.with_missing(&settings.data.missing);
        assert_eq!((table.column("x").unwrap().missing(), findings::find(&table, &settings)), (count, vec![]));
    }
    for case in ordinary {
        assert_eq!(texts(&of(case)), [""; 0], "{}", case.0);
    }
}

#[test]
fn dates_at_the_end_of_a_calendar_are_sentinels() {
    let day = |row: usize| match row % 50 {
        7 => "9999-12-31".to_owned(),
        9 => "01.01.1900".to_owned(),
        _ => format!("2024-{:02}-{:02}", 1 + row % 12, 1 + row % 28),
    };
    let days: Vec<String> = (0..ROWS).map(day).collect();
    let y = rows().iter().map(|row| row.noise).collect();
    let (table, mut settings) = of_columns(vec![Column::of_texts("when", &days), Column::of_numbers("y", y)]);
    let found = findings::find(&table, &settings);
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(found[1].text.starts_with("when is 01.01.1900 in 6 rows, far from all others"), "{found:?}");
    assert!(found[0].text.starts_with("when is 9999-12-31 in 6 rows, far from all others"), "{found:?}");
    found.iter().filter_map(|finding| finding.remedy.as_ref()).for_each(|remedy| remedy.apply(&mut settings));
    let table = table.with_missing(&settings.data.missing);
    assert_eq!((table.column("when").unwrap().missing(), findings::find(&table, &settings)), (12, vec![]));
}

#[test]
fn a_target_of_classes_is_explained() {
    let cases: [(OfRow, &str); 5] = [
        (|row| f64::from(row.a + 20.0 * row.noise > 20.0), "y is only 0 or 1: classification is not offered"),
        (|row| if row.noise > 0.3 { 2.0 } else { 5.5 }, "y is only 2 or 5.5: classification is not offered"),
        (
            |row| rounded(2.0 * row.noise, 0),
            "y has only 5 different whole numbers: if they are codes of classes, their order and distances mean nothing",
        ),
        (|row| rounded(2.0 * row.noise, 0) / 4.0, ""),
        (|row| rounded(9.0 * row.noise, 0), ""),
    ];
    for (target, wanted) in cases {
        let found = texts(&table(&[("a", |row| row.a), ("y", target)]));
        match wanted {
            "" => assert_eq!(found, [""; 0]),
            _ => assert!(found.len() == 1 && found[0].starts_with(wanted), "{found:?}"),
        }
    }
}

#[test]
fn generated_tables_have_no_findings() {
    for rows in [300, 20_000] {
        let demo = DataSettings { source: Source::Demo { rows, seed: 3 }, ..DataSettings::default() };
        for data in [demo, DataSettings::market(rows, 3)] {
            let settings = Settings { data, ..Settings::default() };
            assert_eq!(texts(&(settings.data.table().unwrap(), settings)), [""; 0], "{rows} rows");
        }
    }
}

#[test]
fn findings_come_before_training_and_are_kept_with_the_results() {
    let (table, mut settings) = table(&[("a", |row| row.a), ("b", |row| row.b), ("y", |row| row.a + row.b)]);
    let wanted = ["a and b determine y (R² of a weighted sum 1.0000): are they known when you predict?"];
    assert_eq!(prepare(&table, &settings).unwrap().findings, wanted);
    settings.training.epochs = 1;
    let snapshot = crate::support::trained(table, settings);
    assert_eq!(
        (&*snapshot.findings, &snapshot.results.as_ref().unwrap().findings[..]),
        (&wanted.map(str::to_owned)[..], &wanted.map(str::to_owned)[..])
    );
}

#[test]
fn rows_without_a_date_or_a_group_are_counted() {
    let days: Vec<String> = (0..ROWS)
        .map(|row| if row % 50 == 4 { String::new() } else { format!("2024-01-{:02}", 1 + row % 28) })
        .collect();
    let people: Vec<String> =
        (0..ROWS).map(|row| if row % 100 == 7 { String::new() } else { format!("person {}", row % 40) }).collect();
    let of = |of: OfRow| rows().iter().map(of).collect::<Vec<f64>>();
    let (table, mut settings) = of_columns(vec![
        Column::of_texts("when", &days),
        Column::of_texts("person", &people),
        Column::of_numbers("a", of(|row| row.a)),
        Column::of_numbers("y", of(|row| row.a + 9.0 * row.noise)),
    ]);
    settings.data.features = vec!["a".to_owned()];
    assert_eq!(texts(&(table.clone(), settings.clone())), [""; 0]);
    settings.split.order = SplitOrder::Time;
    let undated = "6 rows have no date in when, first row 5: they come before all others, in the training part";
    assert_eq!(prepare(&table, &settings).unwrap().findings, [undated]);
    settings.data.columns.insert("when".to_owned(), Role::Ignore);
    let no_dates = "order = \"time\", but no column has dates: the rows stay in the file's order, and the last ones are the \
                    test part";
    assert_eq!(prepare(&table, &settings).unwrap().findings, [no_dates]);
    settings.split.order = SplitOrder::Shuffled;
    settings.data.columns.insert("person".to_owned(), Role::Group);
    let prepared = prepare(&table, &settings).unwrap();
    assert_eq!(prepared.findings, ["3 rows have no person, first row 8: each is taken for a group of its own"]);
    assert_eq!(prepared.notes, ["the rows of each person are in one part: 43 groups"]);
}

#[test]
fn a_target_of_texts_says_that_classification_is_not_offered() {
    let problem = |cells: [&str; 4]| {
        let texts: Vec<&str> = (0..40).map(|row| cells[row % 4]).collect();
        let numbers = (0..40).map(|row| f64::from(row * 7 % 13)).collect();
        let (table, settings) = of_columns(vec![Column::of_numbers("a", numbers), Column::of_texts("y", &texts)]);
        settings.problems(Some(&table)).iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    assert_eq!(
        problem(["FALSE", "TRUE", "TRUE", "FALSE"]),
        [
            "Target: \"y\" is a text column of \"FALSE\" and \"TRUE\": classification is not offered; give it as 0 and 1 to \
             predict a number near the share of 1, or choose a numeric column"
        ]
    );
    assert_eq!(
        problem(["cat", "dog", "owl", "dog"]),
        ["Target: \"y\" is a text column of 3 classes: classification is not offered; choose a numeric column"]
    );
    assert_eq!(problem([""; 4]), ["Target: \"y\" is a text column: choose a numeric column"]);
}
