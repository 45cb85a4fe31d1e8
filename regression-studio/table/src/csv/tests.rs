//! Tables are read as written, independent of the chunk boundaries.

use std::fmt::Write as _;
use std::io::Write as _;

use proptest::prelude::*;

use super::value::{self, Decimals};
use super::*;
use crate::Kind;

/// A table's contents in a comparable form: names, kinds, counts, each cell as a number's bits and text, and the lines.
#[derive(Debug, PartialEq)]
struct Contents {
    columns: Vec<(String, Kind, usize, usize)>,
    cells: Vec<Vec<(Option<u64>, String)>>,
    lines: Vec<Option<u64>>,
}

fn contents(table: &Table) -> Contents {
    let rows = || 0..table.rows();
    Contents {
        columns: table
            .columns()
            .iter()
            .map(|column| (column.name().to_owned(), column.kind(), column.missing(), column.not_numeric()))
            .collect(),
        cells: table
            .columns()
            .iter()
            .map(|column| {
                rows().map(|row| (column.number(row).map(f64::to_bits), column.text(row).into_owned())).collect()
            })
            .collect(),
        lines: rows().map(|row| table.line(row)).collect(),
    }
}

/// Reads `bytes` as a file, gzip-compressed if `compress`, with the given chunk and sample sizes. An error is its
/// message without the file's name.
fn read_bytes(bytes: &[u8], chunk: usize, sample: usize, compress: bool) -> Result<Contents, String> {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    match compress {
        true => {
            let mut encoder = flate2::write::GzEncoder::new(&mut file, flate2::Compression::fast());
            encoder.write_all(bytes).unwrap();
            encoder.finish().unwrap();
        }
        false => file.write_all(bytes).unwrap(),
    }
    let limits = Limits { chunk, sample, ..LIMITS };
    let table = read_within(file.path(), limits, &|_| (), &AtomicBool::new(false));
    table.map(|table| contents(&table)).map_err(|error| {
        let message = error.to_string();
        assert_eq!(message.lines().count(), 1, "{message}");
        message.strip_prefix(&file.path().display().to_string()).unwrap().to_owned()
    })
}

/// Chunk and sample sizes to read with; the defaults first.
const SIZES: [(usize, usize); 7] =
    [(LIMITS.chunk, LIMITS.sample), (1, 0), (2, 30), (7, 5), (13, 1000), (64, 1), (100, 100)];

/// A cell's value and how it is written.
#[derive(Clone, Debug)]
struct Written {
    value: String,
    quoted: bool,
    before: &'static str,
    after: &'static str,
}

impl Written {
    /// Appends the cell to `text`, quoted if requested or necessary.
    fn write(&self, text: &mut String, separator: char) {
        let must_quote = self.value.contains([separator, '"', '\n', '\r']) || self.value.trim() != self.value;
        text.push_str(self.before);
        match self.quoted || must_quote {
            true => write!(text, "\"{}\"", self.value.replace('"', "\"\"")).unwrap(),
            false => text.push_str(&self.value),
        }
        text.push_str(self.after);
    }
}

fn cell() -> impl Strategy<Value = Written> {
    let number = prop_oneof![
        (-1000_i32..1000).prop_map(|number| number.to_string()),
        any::<f64>().prop_map(|number| number.to_string()),
        (-9999_i32..9999).prop_map(|number| format!("{}.{:02}", number / 100, number.abs() % 100)),
    ];
    let odd = proptest::sample::select(&[
        "",
        "-",
        "NA",
        "null",
        "nan",
        "inf",
        "x",
        "EQ",
        "a,b",
        "a;b",
        "say \"no\"",
        "two\nlines",
        "\r\n",
        " kept ",
        "\"",
        "é",
        "007",
        "1e400",
        "1 2",
    ]);
    let value = prop_oneof![6 => number, 3 => odd.prop_map(str::to_owned)];
    let blanks = || proptest::sample::select(&["", "", " ", "   "]);
    (value, any::<bool>(), blanks(), blanks()).prop_map(|(value, quoted, before, after)| Written {
        value,
        quoted,
        before,
        after,
    })
}

/// A file's bytes and the table in it.
#[derive(Clone, Debug)]
struct File {
    bytes: Vec<u8>,
    cells: Vec<Vec<String>>,
    lines: Vec<u64>,
    separator: char,
}

prop_compose! {
    fn file()(columns in 2_usize..5)(
        rows in proptest::collection::vec((proptest::collection::vec(cell(), columns), 0_usize..8), 1..40),
        separator in proptest::sample::select(&[',', ';', '\t']),
        line_end in proptest::sample::select(&["\n", "\r\n"]),
        mark in any::<bool>(),
        ends in any::<bool>(),
        columns in Just(columns),
    ) -> File {
        let mut text = if mark { "\u{feff}".to_owned() } else { String::new() };
        let names: Vec<String> = (0..columns).map(|column| format!("c{column}")).collect();
        text += &names.join(&separator.to_string());
        text += line_end;
        let (mut cells, mut lines) = (vec![Vec::new(); columns], Vec::new());
        for (row, blank_lines) in &rows {
            // Few rows have blank lines before them.
            (6..*blank_lines).for_each(|_| { text += " "; text += line_end; });
            lines.push(text.matches('\n').count() as u64 + 1);
            for (index, cell) in row.iter().enumerate() {
                if index > 0 {
                    text.push(separator);
                }
                cell.write(&mut text, separator);
                cells[index].push(cell.value.clone());
            }
            text += line_end;
        }
        if !ends {
            text.truncate(text.len() - line_end.len());
        }
        File { bytes: text.into_bytes(), cells, lines, separator }
    }
}

/// The table in a file, computed naively.
fn expected(file: &File) -> Contents {
    let decimals = if file.separator == ';' { Decimals::PointOrComma } else { Decimals::Point };
    let mut wanted = Contents { columns: Vec::new(), cells: Vec::new(), lines: Vec::new() };
    wanted.lines = file.lines.iter().map(|&line| Some(line)).collect();
    for (index, column) in file.cells.iter().enumerate() {
        let number = |cell: &String| {
            let plain = cell.trim().parse::<f64>().ok().filter(|number| number.is_finite());
            assert_eq!(plain, value::number(cell.as_bytes(), decimals), "{cell:?}");
            plain
        };
        let is_missing = |cell: &String| value::is_missing(cell.as_bytes());
        let missing = column.iter().filter(|cell| is_missing(cell)).count();
        let numbers = column.iter().filter(|cell| number(cell).is_some()).count();
        let others = column.len() - missing - numbers;
        let is_number = numbers > others;
        let content = |cell: &String| match number(cell) {
            Some(number) if is_number => (Some(number.to_bits()), None),
            _ if is_missing(cell) => (None, Some(String::new())),
            _ => (None, Some(cell.clone())),
        };
        let kind = if is_number { Kind::Number } else { Kind::Text };
        wanted.columns.push((format!("c{index}"), kind, missing, if is_number { others } else { 0 }));
        let shown = |(bits, text): (Option<u64>, Option<String>)| {
            let number = || crate::Column::of_numbers("", bits.map(f64::from_bits).into_iter().collect());
            (bits, text.unwrap_or_else(|| number().text(0).into_owned()))
        };
        wanted.cells.push(column.iter().map(|cell| shown(content(cell))).collect());
    }
    wanted
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn tables_are_read_as_written_at_any_chunk_size(file in file()) {
        let wanted = expected(&file);
        for (chunk, sample) in SIZES {
            let table = read_bytes(&file.bytes, chunk, sample, chunk % 2 == 0).unwrap();
            prop_assert_eq!(&table, &wanted, "chunk {}, sample {}", chunk, sample);
        }
    }

    #[test]
    fn damaged_files_give_the_same_result_at_any_chunk_size(
        file in file(),
        places in proptest::collection::vec((any::<proptest::sample::Index>(), any::<proptest::sample::Index>()), 1..4),
    ) {
        let mut bytes = file.bytes;
        let header = bytes.iter().position(|&byte| byte == b'\n').unwrap() + 1;
        for (place, byte) in places {
            let place = header + place.index(bytes.len() - header);
            match byte.get(b"\",;\n\t x\xff\x00|||".as_slice()) {
                b'|' => drop(bytes.remove(place)),
                &byte => bytes[place] = byte,
            }
            if bytes.len() == header {
                break;
            }
        }
        let wanted = read_bytes(&bytes, LIMITS.chunk, LIMITS.sample, false);
        for (chunk, sample) in SIZES {
            // A zero byte masks the other faults of its chunk.
            if bytes.contains(&0) {
                prop_assert!(read_bytes(&bytes, chunk, sample, false).is_err());
            } else {
                let found = read_bytes(&bytes, chunk, sample, false);
                prop_assert_eq!(&found, &wanted, "chunk {}, sample {}", chunk, sample);
            }
        }
    }

    #[test]
    fn any_bytes_give_a_table_or_a_one_line_error(
        bytes in proptest::collection::vec(any::<u8>(), 0..300),
        size in 0..SIZES.len(),
    ) {
        let (chunk, sample) = SIZES[size];
        let _ = read_bytes(&bytes, chunk, sample, false);
        let header = [b"a,b\n".as_slice(), &bytes].concat();
        let _ = read_bytes(&header, chunk, sample, true);
        // Arbitrary bytes behind gzip's magic number.
        let _ = read_bytes(&[b"\x1f\x8b\x08\x00".as_slice(), &bytes].concat(), chunk, sample, false);
    }
}

#[test]
fn columns_misjudged_from_their_first_rows_keep_their_texts_as_written() {
    let mut text = "code,name,late\n".to_owned();
    (0..50).for_each(|row| writeln!(text, "{row:03},{row},").unwrap());
    (50..120).for_each(|row| writeln!(text, "K{row},{row},x{}", row % 3).unwrap());
    for (chunk, sample) in SIZES.into_iter().chain([(40, 100)]) {
        let table = read_bytes(text.as_bytes(), chunk, sample, false).unwrap();
        let kinds: Vec<Kind> = table.columns.iter().map(|column| column.1).collect();
        assert_eq!(kinds, [Kind::Text, Kind::Number, Kind::Text], "chunk {chunk}, sample {sample}");
        assert_eq!(table.cells[0][7], (None, "007".to_owned()));
        assert_eq!((&table.cells[2][0].1, &table.cells[2][50].1), (&String::new(), &"x2".to_owned()));
        assert_eq!(table.columns[2].2, 50);
    }
}

#[test]
fn columns_that_begin_with_texts_may_be_numeric() {
    let mut text = "a,b\n".to_owned();
    (0..20).for_each(|row| writeln!(text, "{row},bad{}", row % 2).unwrap());
    (20..100).for_each(|row| writeln!(text, "{row},{}", row as f64 / 8.0).unwrap());
    for (chunk, sample) in SIZES {
        let table = read_bytes(text.as_bytes(), chunk, sample, false).unwrap();
        assert_eq!(table.columns[1], ("b".to_owned(), Kind::Number, 0, 20), "chunk {chunk}, sample {sample}");
        assert_eq!((&table.cells[1][3], &table.cells[1][99].1), (&(None, "bad1".to_owned()), &"12.375".to_owned()));
    }
}

#[test]
fn rows_over_the_limit_are_rejected_with_their_line_at_any_chunk_size() {
    let text = format!("a,b\n1,2\n\n3,{}\n4,5\n", "x".repeat(100));
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), text).unwrap();
    for (chunk, sample) in SIZES {
        let limits = Limits { chunk, sample, record: 90, ..LIMITS };
        let error = read_within(file.path(), limits, &|_| (), &AtomicBool::new(false)).unwrap_err();
        assert!(matches!(error.problem, CsvProblem::TooLong), "{error}");
        assert_eq!(error.line, Some(4), "chunk {chunk}, sample {sample}");
    }
}

#[test]
fn progress_is_the_share_of_the_file_that_is_read() {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), ["a,b\n".as_bytes(), &b"1,2\n".repeat(999)].concat()).unwrap();
    let shares = Mutex::new(Vec::new());
    let push = |share| shares.lock().unwrap().push(share);
    // The sample is a quarter of the file; then come three chunks, and one that finds the end.
    read_within(file.path(), Limits { chunk: 1000, sample: 1000, ..LIMITS }, &push, &AtomicBool::new(false)).unwrap();
    let shares = shares.into_inner().unwrap();
    assert!(shares.is_sorted() && shares.len() > 3 && shares[0] <= 0.5 && shares.last() == Some(&1.0), "{shares:?}");
}

#[test]
fn a_row_of_exactly_the_limit_is_read_wherever_it_is_cut() {
    let file = tempfile::NamedTempFile::new().unwrap();
    for (length, is_read) in [(90, true), (91, false)] {
        // The last line ends with the file: its break does not count.
        std::fs::write(file.path(), format!("a,b\n1,{}", "x".repeat(length - 2))).unwrap();
        for chunk in 1..=200 {
            let limits = Limits { chunk, sample: 0, record: 90, ..LIMITS };
            let table = read_within(file.path(), limits, &|_| (), &AtomicBool::new(false));
            match table {
                Ok(table) => assert!(is_read && table.rows() == 1, "chunk {chunk}"),
                Err(error) => assert!(!is_read && matches!(error.problem, CsvProblem::TooLong), "{error}"),
            }
        }
    }
}
