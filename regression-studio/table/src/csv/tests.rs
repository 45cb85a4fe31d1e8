//! Tables come out the same wherever the file is cut, and as they were written.

use std::fmt::Write as _;
use std::io::Write as _;

use proptest::prelude::*;

use super::value::{self, Decimals};
use super::*;
use crate::Kind;

/// What a table holds, for comparing: names, kinds, counts, each cell as a number's bits or a text, and the lines.
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

/// Reads bytes as a file, packed or not, in pieces of some size with a sample of some size; an error by its message
/// without the file's name.
fn read_bytes(bytes: &[u8], piece: usize, sample: usize, pack: bool) -> Result<Contents, String> {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    match pack {
        true => {
            let mut encoder = flate2::write::GzEncoder::new(&mut file, flate2::Compression::fast());
            encoder.write_all(bytes).unwrap();
            encoder.finish().unwrap();
        }
        false => file.write_all(bytes).unwrap(),
    }
    let limits = Limits { piece, sample, ..LIMITS };
    let table = read_within(file.path(), limits, &|_| (), &AtomicBool::new(false));
    table.map(|table| contents(&table)).map_err(|error| {
        let message = error.to_string();
        assert_eq!(message.lines().count(), 1, "{message}");
        message.strip_prefix(&file.path().display().to_string()).unwrap().to_owned()
    })
}

/// The sizes of pieces and samples by which files are read: the usual ones first.
const CUTS: [(usize, usize); 7] =
    [(LIMITS.piece, LIMITS.sample), (1, 0), (2, 30), (7, 5), (13, 1000), (64, 1), (100, 100)];

/// A cell: what it says, and how it is written.
#[derive(Clone, Debug)]
struct Written {
    says: String,
    quoted: bool,
    before: &'static str,
    behind: &'static str,
}

impl Written {
    /// Quoted where it must be.
    fn write(&self, text: &mut String, separator: char) {
        let must = self.says.contains([separator, '"', '\n', '\r']) || self.says.trim() != self.says;
        text.push_str(self.before);
        match self.quoted || must {
            true => write!(text, "\"{}\"", self.says.replace('"', "\"\"")).unwrap(),
            false => text.push_str(&self.says),
        }
        text.push_str(self.behind);
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
    let says = prop_oneof![6 => number, 3 => odd.prop_map(str::to_owned)];
    let blanks = || proptest::sample::select(&["", "", " ", "   "]);
    (says, any::<bool>(), blanks(), blanks()).prop_map(|(says, quoted, before, behind)| Written {
        says,
        quoted,
        before,
        behind,
    })
}

/// A file as it is written, and the table that it is.
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
                cells[index].push(cell.says.clone());
            }
            text += line_end;
        }
        if !ends {
            text.truncate(text.len() - line_end.len());
        }
        File { bytes: text.into_bytes(), cells, lines, separator }
    }
}

/// The table that a file is, by the plainest means.
fn expected(file: &File) -> Contents {
    let decimals = if file.separator == ';' { Decimals::PointOrComma } else { Decimals::Point };
    let mut wanted = Contents { columns: Vec::new(), cells: Vec::new(), lines: Vec::new() };
    wanted.lines = file.lines.iter().map(|&line| Some(line)).collect();
    for (index, says) in file.cells.iter().enumerate() {
        let number = |says: &String| {
            let plain = says.trim().parse::<f64>().ok().filter(|number| number.is_finite());
            assert_eq!(plain, value::number(says.as_bytes(), decimals), "{says:?}");
            plain
        };
        let is_missing = |says: &String| value::is_missing(says.as_bytes());
        let missing = says.iter().filter(|says| is_missing(says)).count();
        let numbers = says.iter().filter(|says| number(says).is_some()).count();
        let others = says.len() - missing - numbers;
        let is_number = numbers > others;
        let cell = |says: &String| match number(says) {
            Some(number) if is_number => (Some(number.to_bits()), None),
            _ if is_missing(says) => (None, Some(String::new())),
            _ => (None, Some(says.clone())),
        };
        let kind = if is_number { Kind::Number } else { Kind::Text };
        wanted.columns.push((format!("c{index}"), kind, missing, if is_number { others } else { 0 }));
        let shown = |(bits, text): (Option<u64>, Option<String>)| {
            let number = || crate::Column::of_numbers("", bits.map(f64::from_bits).into_iter().collect());
            (bits, text.unwrap_or_else(|| number().text(0).into_owned()))
        };
        wanted.cells.push(says.iter().map(|says| shown(cell(says))).collect());
    }
    wanted
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn a_table_comes_out_as_it_was_written_wherever_it_is_cut(file in file()) {
        let wanted = expected(&file);
        for (piece, sample) in CUTS {
            let table = read_bytes(&file.bytes, piece, sample, piece % 2 == 0).unwrap();
            prop_assert_eq!(&table, &wanted, "piece {}, sample {}", piece, sample);
        }
    }

    #[test]
    fn a_damaged_file_is_read_or_refused_alike_wherever_it_is_cut(
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
        let wanted = read_bytes(&bytes, LIMITS.piece, LIMITS.sample, false);
        for (piece, sample) in CUTS {
            // A zero byte hides what else is wrong in its piece.
            if bytes.contains(&0) {
                prop_assert!(read_bytes(&bytes, piece, sample, false).is_err());
            } else {
                prop_assert_eq!(&read_bytes(&bytes, piece, sample, false), &wanted, "piece {}, sample {}", piece, sample);
            }
        }
    }

    #[test]
    fn any_bytes_are_read_or_refused_in_one_line(bytes in proptest::collection::vec(any::<u8>(), 0..300), cut in 0..CUTS.len()) {
        let (piece, sample) = CUTS[cut];
        let _ = read_bytes(&bytes, piece, sample, false);
        let header = [b"a,b\n".as_slice(), &bytes].concat();
        let _ = read_bytes(&header, piece, sample, true);
        // A gzip file of any bytes.
        let _ = read_bytes(&[b"\x1f\x8b\x08\x00".as_slice(), &bytes].concat(), piece, sample, false);
    }
}

#[test]
fn a_column_whose_first_rows_mislead_keeps_its_texts_as_written() {
    let mut text = "code,name,late\n".to_owned();
    (0..50).for_each(|row| writeln!(text, "{row:03},{row},").unwrap());
    (50..120).for_each(|row| writeln!(text, "K{row},{row},x{}", row % 3).unwrap());
    for (piece, sample) in CUTS.into_iter().chain([(40, 100)]) {
        let table = read_bytes(text.as_bytes(), piece, sample, false).unwrap();
        let kinds: Vec<Kind> = table.columns.iter().map(|column| column.1).collect();
        assert_eq!(kinds, [Kind::Text, Kind::Number, Kind::Text], "piece {piece}, sample {sample}");
        assert_eq!(table.cells[0][7], (None, "007".to_owned()));
        assert_eq!((&table.cells[2][0].1, &table.cells[2][50].1), (&String::new(), &"x2".to_owned()));
        assert_eq!(table.columns[2].2, 50);
    }
}

#[test]
fn a_column_of_texts_at_first_may_be_one_of_numbers() {
    let mut text = "a,b\n".to_owned();
    (0..20).for_each(|row| writeln!(text, "{row},bad{}", row % 2).unwrap());
    (20..100).for_each(|row| writeln!(text, "{row},{}", row as f64 / 8.0).unwrap());
    for (piece, sample) in CUTS {
        let table = read_bytes(text.as_bytes(), piece, sample, false).unwrap();
        assert_eq!(table.columns[1], ("b".to_owned(), Kind::Number, 0, 20), "piece {piece}, sample {sample}");
        assert_eq!((&table.cells[1][3], &table.cells[1][99].1), (&(None, "bad1".to_owned()), &"12.375".to_owned()));
    }
}

#[test]
fn a_row_over_the_limit_is_refused_at_its_line_wherever_it_is_cut() {
    let text = format!("a,b\n1,2\n\n3,{}\n4,5\n", "x".repeat(100));
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), text).unwrap();
    for (piece, sample) in CUTS {
        let limits = Limits { piece, sample, record: 90, ..LIMITS };
        let error = read_within(file.path(), limits, &|_| (), &AtomicBool::new(false)).unwrap_err();
        assert!(matches!(error.problem, CsvProblem::TooLong), "{error}");
        assert_eq!(error.line, Some(4), "piece {piece}, sample {sample}");
    }
}
