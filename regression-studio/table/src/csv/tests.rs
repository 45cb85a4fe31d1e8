//! Tables are read as written, independent of the chunk boundaries.

use std::fmt::Write as _;
use std::io::Write as _;

use proptest::prelude::*;

use super::value;
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

fn read_limited(path: &Path, limits: Limits, progress: &(dyn Fn(f32) + Sync)) -> Result<Table, CsvError> {
    let (declared, cancel) = (&Declared::default(), &AtomicBool::new(false));
    read_within(path, limits, Options { declared, memory: limits.memory, progress, cancel })
}

/// Reads `bytes` as a file, gzip-compressed if `compress`, with the given chunk and sample sizes.
/// Returns an error's message without the file's name.
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
    let table = read_limited(file.path(), limits, &|_| ());
    table.map(|table| contents(&table)).map_err(|error| {
        let message = error.to_string();
        assert_eq!(message.lines().count(), 1, "{message}");
        message.strip_prefix(&file.path().display().to_string()).unwrap().to_owned()
    })
}

/// Chunk and sample sizes to read with; the defaults first.
const SIZES: [(usize, usize); 7] =
    [(LIMITS.chunk, LIMITS.sample), (1, 0), (2, 30), (7, 5), (13, 1000), (64, 1), (100, 100)];

/// A cell's value and the way it is written.
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
        File { bytes: text.into_bytes(), cells, lines }
    }
}

/// The table in a file, computed naively.
fn expected(file: &File) -> Contents {
    let mut wanted = Contents { columns: Vec::new(), cells: Vec::new(), lines: Vec::new() };
    wanted.lines = file.lines.iter().map(|&line| Some(line)).collect();
    for (index, column) in file.cells.iter().enumerate() {
        let number = |cell: &String| {
            let plain = cell.trim().parse::<f64>().ok().filter(|number| number.is_finite());
            assert_eq!(plain, value::number(cell.as_bytes(), DecimalMark::Point), "{cell:?}");
            plain
        };
        let is_missing = |cell: &String| value::is_missing(cell.as_bytes());
        let missing = column.iter().filter(|cell| is_missing(cell)).count();
        let numbers = column.iter().filter(|cell| number(cell).is_some()).count();
        let others = column.len() - missing - numbers;
        let is_infinite = |cell: &&String| cell.trim().parse::<f64>().is_ok_and(f64::is_infinite);
        let infinite = column.iter().filter(is_infinite).count();
        let is_number = numbers > 0 && numbers + infinite > others - infinite;
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
            // A zero byte hides the other faults in its chunk.
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
        // Arbitrary bytes after gzip's magic number.
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
        let error = read_limited(file.path(), limits, &|_| ()).unwrap_err();
        assert!(matches!(error.problem, CsvProblem::TooLong), "{error}");
        assert_eq!(error.line, Some(4), "chunk {chunk}, sample {sample}");
    }
}

#[test]
fn progress_is_the_share_of_the_file_that_is_read() {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), ["a,b\n".as_bytes(), &b"1,2\n".repeat(99_999)].concat()).unwrap();
    let shares = Mutex::new(Vec::new());
    let push = |share| shares.lock().unwrap().push(share);
    // The sample is a quarter of the file; then there are three chunks, and one that finds the end.
    read_limited(file.path(), Limits { chunk: 100_000, sample: 100_000, ..LIMITS }, &push).unwrap();
    let shares = shares.into_inner().unwrap();
    assert!(shares.is_sorted() && shares.len() > 3 && shares[0] <= 0.5 && shares.last() == Some(&1.0), "{shares:?}");
}

#[test]
fn a_row_of_exactly_the_limit_is_read_wherever_it_is_cut() {
    let file = tempfile::NamedTempFile::new().unwrap();
    for (length, is_read) in [(90, true), (91, false)] {
        // The last line ends with the file, so its line break does not count.
        std::fs::write(file.path(), format!("a,b\n1,{}", "x".repeat(length - 2))).unwrap();
        for chunk in 1..=200 {
            let limits = Limits { chunk, sample: 0, record: 90, ..LIMITS };
            let table = read_limited(file.path(), limits, &|_| ());
            match table {
                Ok(table) => assert!(is_read && table.rows() == 1, "chunk {chunk}"),
                Err(error) => assert!(!is_read && matches!(error.problem, CsvProblem::TooLong), "{error}"),
            }
        }
    }
}

/// A way to write numbers.
#[derive(Clone, Copy, Debug)]
struct Convention {
    decimal: char,
    thousands: &'static str,
    is_indian: bool,
    separator: char,
}

const CONVENTIONS: [Convention; 8] = [
    Convention { decimal: '.', thousands: "", is_indian: false, separator: ',' },
    Convention { decimal: '.', thousands: ",", is_indian: false, separator: ',' },
    Convention { decimal: '.', thousands: ",", is_indian: true, separator: ';' },
    Convention { decimal: '.', thousands: "\u{2019}", is_indian: false, separator: ';' },
    Convention { decimal: ',', thousands: "", is_indian: false, separator: ';' },
    Convention { decimal: ',', thousands: ".", is_indian: false, separator: '\t' },
    Convention { decimal: ',', thousands: "\u{202f}", is_indian: false, separator: ';' },
    Convention { decimal: ',', thousands: "\u{a0}", is_indian: false, separator: ',' },
];

impl Convention {
    /// Writes a number of thousandths, without trailing zeros.
    fn write(self, thousandths: i64) -> String {
        let mut whole = (thousandths.abs() / 1000).to_string();
        let mut end = whole.len();
        let mut length = 3;
        while !self.thousands.is_empty() && end > length {
            end -= length;
            whole.insert_str(end, self.thousands);
            length = if self.is_indian { 2 } else { 3 };
        }
        let fraction = format!("{:03}", thousandths.abs() % 1000);
        let fraction = fraction.trim_end_matches('0');
        let sign = if thousandths < 0 { "-" } else { "" };
        match fraction {
            "" => format!("{sign}{whole}"),
            _ => format!("{sign}{whole}{}{fraction}", self.decimal),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Holds for any convention, if one cell shows the decimal mark.
    #[test]
    fn columns_of_eight_conventions_are_read_as_they_were_written(
        convention in proptest::sample::select(&CONVENTIONS),
        mut numbers in proptest::collection::vec(prop_oneof![
            -5_000_000_i64..5_000_000,
            (-5_000_i64..5_000).prop_map(|whole| whole * 1000),
            any::<i32>().prop_map(i64::from),
        ], 1..60),
        other in proptest::collection::vec(0_i64..2_000_000, 60),
        place in any::<proptest::sample::Index>(),
    ) {
        // 0.5 can be read in only one way.
        let place = place.index(numbers.len() + 1);
        numbers.insert(place, 500);
        let mut text = format!("a{0}b{0}c\n", convention.separator);
        for (row, &number) in numbers.iter().enumerate() {
            let cells = [convention.write(number), convention.write(other[row] / 1000 * 1000), format!("x{row}")];
            writeln!(text, "{}", cells.map(|cell| format!("\"{cell}\"")).join(&convention.separator.to_string())).unwrap();
        }
        for (chunk, sample) in SIZES {
            let table = read_bytes(text.as_bytes(), chunk, sample, false).unwrap();
            let values = |column: usize| table.cells[column].iter().map(|cell| cell.0.map(f64::from_bits)).collect::<Vec<_>>();
            let wanted: Vec<_> = numbers.iter().map(|&number| Some(number as f64 / 1000.0)).collect();
            prop_assert_eq!(values(0), wanted, "chunk {}, sample {}: {}", chunk, sample, text);
            // The other column has the file's mark.
            let wanted: Vec<_> = other[..numbers.len()].iter().map(|&number| Some((number / 1000) as f64)).collect();
            prop_assert_eq!(values(1), wanted, "chunk {}, sample {}: {}", chunk, sample, text);
        }
    }
}

/// The values of a column, and the notes on it.
fn read_column(text: &str, name: &str) -> (Vec<Option<f64>>, Vec<String>) {
    read_declared(text, name, Declared::default())
}

fn read_declared(text: &str, name: &str, declared: Declared) -> (Vec<Option<f64>>, Vec<String>) {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), text).unwrap();
    let (declared, cancel) = (&declared, &AtomicBool::new(false));
    let table = read_with(file.path(), Options { declared, memory: u64::MAX, progress: &|_| (), cancel }).unwrap();
    let column = table.column(name).unwrap();
    let notes = table.notes().iter().filter(|note| note.column.as_deref() == Some(name)).map(|note| note.text.clone());
    ((0..table.rows()).map(|row| column.number(row)).collect(), notes.collect())
}

fn some<const N: usize>(values: [f64; N]) -> Vec<Option<f64>> {
    values.map(Some).to_vec()
}

#[test]
fn the_decimal_mark_is_that_of_the_file_and_stated_where_both_give_a_number() {
    let (values, notes) = read_column("area;price\n19;950\n25;1.250\n48;2.400,50\n", "price");
    assert_eq!(values, some([950.0, 1250.0, 2400.5]));
    assert_eq!(
        notes,
        ["price: the decimal mark is the comma (\"2.400,50\", line 4), so that \"1.250\" (line 3) is 1250"]
    );
    let (values, notes) = read_column("area;price\n19;950\n25;1,250\n48;2,400.50\n", "price");
    assert_eq!((values, notes.len()), (some([950.0, 1250.0, 2400.5]), 1));
    let (values, notes) = read_column("kg,price\n\"0,095\",19\n\"0,125\",25\n\"0,240\",48\n", "kg");
    assert_eq!((values, notes.len()), (some([0.095, 0.125, 0.24]), 0));
    // Another column decides.
    let (values, notes) = read_column("a;b\n1.250;0,5\n2.500;1\n", "a");
    assert_eq!((values, notes.len()), (some([1250.0, 2500.0]), 1));
    // Each column is decided by its own cells.
    let text = "a;b\n1.250;0,5\n2.5;1,250\n";
    assert_eq!((read_column(text, "a").0, read_column(text, "b").0), (some([1.25, 2.5]), some([0.5, 1.25])));
}

#[test]
fn a_mark_that_no_cell_shows_is_assumed_and_stated_unless_declared() {
    for (text, separator, by_default, otherwise) in [
        ("1,250", ';', 1.25, 1250.0),
        ("1,250", ',', 1250.0, 1.25),
        ("1.250", ';', 1.25, 1250.0),
        ("1.250", '\t', 1.25, 1250.0),
    ] {
        let file = format!("a{separator}b\n\"{text}\"{separator}x\n7{separator}y\n");
        let (values, notes) = read_column(&file, "a");
        assert_eq!(values, some([by_default, 7.0]), "{file:?}");
        assert_eq!(notes.len(), 1, "{file:?} {notes:?}");
        assert!(notes[0].ends_with(&format!("in [data] reads {otherwise}")), "{notes:?}");
        let mark = if notes[0].contains("\"comma\"") { DecimalMark::Comma } else { DecimalMark::Point };
        let declared = Declared { decimal_mark: Some(mark), ..Declared::default() };
        assert_eq!(read_declared(&file, "a", declared), (some([otherwise, 7.0]), vec![]), "{file:?}");
    }
    // The usual way to write numbers needs no note.
    assert_eq!(read_column("a,b\n1.250,x\n", "a"), (some([1.25]), vec![]));
    let roles = BTreeMap::from([("a".to_owned(), Role::DecimalComma)]);
    let declared = Declared { roles, ..Declared::default() };
    assert_eq!(read_declared("a,b\n1.250,2.250\n", "a", declared), (some([1250.0]), vec![]));
}

#[test]
fn numbers_that_are_not_plain_are_read_and_stated() {
    let (values, notes) = read_column("a,b\n(50.00),1\n\u{2212}3,2\n7,3\n", "a");
    assert_eq!(values, some([-50.0, -3.0, 7.0]));
    assert_eq!(notes, ["a: numbers in parentheses are negative: 1 cell, first line 2 \"(50.00)\""]);
    for (cells, wanted, note) in [
        (["12.5%", "3%"], [12.5, 3.0], "a: the numbers are per hundred: 12.5% is 12.5"),
        (["$1200", "-$3.5"], [1200.0, -3.5], "a: every number has \"$\", which is left out"),
        (["USD 300", "USD 7"], [300.0, 7.0], "a: every number has \"USD\", which is left out"),
        (["39.4 m2", "40 m2"], [39.4, 40.0], "a: every number has \"m2\", which is left out"),
        (["\"1.200,5 €\"", "\"7,25 €\""], [1200.5, 7.25], "a: every number has \"€\", which is left out"),
    ] {
        let (values, notes) = read_column(&format!("a,b\n{},1\n{},2\n", cells[0], cells[1]), "a");
        assert_eq!(values, some(wanted), "{cells:?}");
        assert_eq!(notes, [note]);
    }
    // Numbers with two different units are not numbers.
    assert_eq!(read_column("a,b\n39.4 m2,1\n424 ft2,2\n", "a").0, [None, None]);
    let units = units(&Column::of_texts("a", &["39.4 m2", "424 ft2", "?!"]));
    assert_eq!(units, ["ft2", "m2"]);
}

#[test]
fn unreadable_cells_are_counted_apart_from_missing_ones() {
    let (values, notes) = read_column("a,b\n1,1\nTBD,2\n,3\n4,4\n12 or so,5\n6,6\n", "a");
    assert_eq!(values, [Some(1.0), None, None, Some(4.0), None, Some(6.0)]);
    assert_eq!(notes, ["a: 2 cells are not numbers, first line 3 \"TBD\""]);
    let (values, notes) = read_column("when,b\n1970-01-01,1\n1970-01-02,2\nTBD,3\n", "when");
    assert_eq!(values, [Some(0.0), Some(1.0), None]);
    assert_eq!(notes, ["when: 1 cell is not a date, first line 4 \"TBD\""]);
    let (values, notes) = read_column("a,b\nNone,1\nNone,2\nNone,3\n4,4\n", "a");
    assert_eq!(values, [None, None, None, Some(4.0)]);
    assert_eq!(notes, ["a: missing by a word such as \"None\": 3 cells"]);
}

#[test]
fn columns_are_read_as_declared() {
    let kinds = |role, text: &str| {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        let declared = Declared { roles: BTreeMap::from([("a".to_owned(), role)]), ..Declared::default() };
        let (declared, cancel) = (&declared, &AtomicBool::new(false));
        let table = read_with(file.path(), Options { declared, memory: u64::MAX, progress: &|_| (), cancel }).unwrap();
        let column = table.column("a").unwrap();
        let texts: Vec<String> = (0..table.rows()).map(|row| column.text(row).into_owned()).collect();
        (column.kind(), column.is_date(), column.missing(), column.not_numeric(), texts.join(" "))
    };
    let codes = "a,b\n01,1\n02,2\n3A,3\nNA,4\n,5\n";
    assert_eq!(kinds(Role::Category, codes), (Kind::Text, false, 1, 0, "01 02 3A NA ".to_owned()));
    assert_eq!(kinds(Role::Text, codes), (Kind::Text, false, 2, 0, "01 02 3A  ".to_owned()));
    assert_eq!(kinds(Role::Number, codes), (Kind::Number, false, 2, 1, "1 2 3A  ".to_owned()));
    assert_eq!(kinds(Role::Number, "a,b\nx,1\ny,2\n3,3\n"), (Kind::Number, false, 0, 2, "x y 3".to_owned()));
    assert_eq!(kinds(Role::Number, "a,b\nx,1\ny,2\n"), (Kind::Number, false, 0, 2, "x y".to_owned()));
    let compact = "a,b\n20250131,1\n202502,2\n";
    assert_eq!(kinds(Role::Date, compact), (Kind::Number, true, 0, 0, "20250131 202502".to_owned()));
    let identifiers = "a,b\n00123,1\n9007199254740993,2\n1.10,3\nNA,4\n8825979190748337887623,5\n";
    for role in [Role::Index, Role::Group, Role::Category] {
        let wanted = "00123 9007199254740993 1.10 NA 8825979190748337887623".to_owned();
        assert_eq!(kinds(role, identifiers), (Kind::Text, false, 0, 0, wanted), "{role:?}");
    }
    assert_eq!(
        kinds(Role::Index, "a,b\n2025-01-31,1\n2025-02-01,2\n"),
        (Kind::Number, true, 0, 0, "2025-01-31 2025-02-01".to_owned())
    );
    assert_eq!(
        kinds(Role::MonthFirst, "a,b\n01/31/2025,1\nx,2\n"),
        (Kind::Number, true, 0, 1, "01/31/2025 x".to_owned())
    );
}

/// The table in `bytes`, read with these declarations.
fn table_of(bytes: &[u8], declared: &Declared) -> Table {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), bytes).unwrap();
    let cancel = &AtomicBool::new(false);
    read_with(file.path(), Options { declared, memory: u64::MAX, progress: &|_| (), cancel }).unwrap()
}

#[test]
fn a_column_keeps_the_unit_that_all_of_its_numbers_have() {
    for (cells, wanted) in [
        (["$1200", "-$3.5"], Some("$")),
        (["12 m2", "7 m2"], Some("m2")),
        (["5%", "7.5 %"], Some("%")),
        (["12", "7"], None),
        (["x", "y"], None),
        (["2025-01-31", "2025-02-01"], None),
    ] {
        let table = table_of(format!("a,b\n{},1\n{},2\n", cells[0], cells[1]).as_bytes(), &Declared::default());
        assert_eq!(table.columns()[0].unit(), wanted, "{cells:?}");
    }
}

#[test]
fn integers_that_f64_cannot_tell_apart_are_counted_whatever_way_they_are_read() {
    let texts = ["9007199254740993", "5", "12345678901234567890", "9007199254740992", "", "9,007,199,254,740,993"];
    let rows: String = texts.map(|text| format!("{text:?};x\n")).concat();
    let text = format!("a;b\n{}", rows.repeat(20));
    for (chunk, sample) in SIZES {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), &text).unwrap();
        let table = read_limited(file.path(), Limits { chunk, sample, ..LIMITS }, &|_| ()).unwrap();
        assert_eq!(table.columns()[0].indistinct_integers(), 60, "chunk {chunk}, sample {sample}");
        assert_eq!(
            table.notes().iter().map(|note| &*note.text).collect::<Vec<_>>(),
            [
                "a: 60 integers that f64 cannot tell apart (beyond 2^53), first line 2: if they identify rows, declare it in \
              [data.columns]: a = \"index\" or \"category\""
            ],
            "chunk {chunk}, sample {sample}"
        );
    }
    let roles = BTreeMap::from([("a".to_owned(), Role::Category)]);
    let table = table_of(text.as_bytes(), &Declared { roles, ..Declared::default() });
    assert_eq!((table.columns()[0].indistinct_integers(), table.notes()), (0, &[][..]));
}

#[test]
fn years_of_two_digits_are_stated_unless_declared() {
    let text = "when,b\n05.01.69,1\n05.01.68,2\n";
    let table = table_of(text.as_bytes(), &Declared::default());
    let column = &table.columns()[0];
    assert!(column.two_digit_years());
    assert_eq!([0, 1].map(|row| crate::date(column.number(row).unwrap())), ["1969-01-05", "2068-01-05"]);
    assert_eq!(
        table.notes().iter().map(|note| &*note.text).collect::<Vec<_>>(),
        [
            "when: years of two digits are 1969 to 2068: \"05.01.69\" is 1969-01-05; declare, for example, first_year = 1950 in \
          [data] to read them as 1950 to 2049"
        ]
    );
    let table = table_of(text.as_bytes(), &Declared { first_year: Some(1950), ..Declared::default() });
    let column = &table.columns()[0];
    assert_eq!([0, 1].map(|row| crate::date(column.number(row).unwrap())), ["1969-01-05", "1968-01-05"]);
    assert_eq!(table.notes(), []);
    let table = table_of(b"when,b\n05.01.1969,1\n", &Declared::default());
    assert!(!table.columns()[0].two_digit_years() && table.notes().is_empty());
}

#[test]
fn notes_propose_what_to_declare() {
    for (text, wanted) in [
        ("a,b\n20250131,1\n20250201,2\n", "a: numbers such as 20250131 look like dates"),
        ("a,b\n,1\n202501,2\n", "a: numbers such as 202501 look like dates"),
        ("a,b\n01,1\n02,2\n", "a: numbers such as \"01\" begin with a zero"),
        ("a,b\n01,1\n02,2\n3A,3\n", "a: 1 cell is not a number, first line 4 \"3A\"; if these are codes"),
        ("a,b\nNA,1\nx,2\ny,3\n", "a: missing by a word such as \"NA\": 1 cell; to make it a category"),
        ("a,b\n01/02/2025,1\n", "a: no cell shows the order of day and month"),
    ] {
        let notes = read_column(text, "a").1;
        assert!(notes.len() == 1 && notes[0].starts_with(wanted), "{notes:?}");
        assert!(notes[0].contains("[data.columns]"), "{notes:?}");
    }
}

#[test]
fn comments_between_rows_are_skipped_and_counted() {
    let text = "a,b\n1,2\n# a note\n#3,4\n5,6\n# the, end, of it\n";
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), text).unwrap();
    for (chunk, sample) in SIZES {
        let table = read_limited(file.path(), Limits { chunk, sample, ..LIMITS }, &|_| ()).unwrap();
        let lines: Vec<_> = (0..3).map(|row| table.line(row)).collect();
        assert_eq!((table.rows(), lines), (3, vec![Some(2), Some(4), Some(5)]));
        assert_eq!(table.column("a").unwrap().text(1), "#3");
        assert!(
            table
                .notes()
                .iter()
                .any(|note| note.text == "lines that begin with # are comments: 2 skipped, the first line 3"),
            "{:?}",
            table.notes()
        );
    }
}

#[test]
fn a_byte_order_mark_or_a_declaration_gives_the_encoding() {
    let text = "name,größe\nŐr,1\nŻółw,2\n";
    let utf_16 = |bytes: fn(u16) -> [u8; 2]| {
        "\u{feff}".chars().chain(text.chars()).collect::<String>().encode_utf16().flat_map(bytes).collect::<Vec<u8>>()
    };
    let iso_8859_2 = encoding_rs::ISO_8859_2.encode(text).0.into_owned();
    let declared = |label: &str| Declared { encoding: Some(label.parse().unwrap()), ..Declared::default() };
    for (bytes, declared, name) in [
        (utf_16(u16::to_le_bytes), Declared::default(), "UTF-16LE"),
        (utf_16(u16::to_be_bytes), Declared::default(), "UTF-16BE"),
        (utf_16(u16::to_be_bytes), declared("latin2"), "UTF-16BE"),
        (utf_16(u16::to_be_bytes)[2..].to_vec(), declared("utf-16be"), "UTF-16BE"),
        (format!("\u{feff}{text}").into_bytes(), declared("latin2"), "UTF-8"),
        (iso_8859_2, declared("latin2"), "ISO-8859-2"),
    ] {
        let table = table_of(&bytes, &declared);
        assert_eq!(table.encoding().name(), name);
        assert_eq!((table.columns()[0].name(), table.columns()[1].name()), ("name", "größe"), "{name}");
        assert_eq!((table.columns()[0].text(0), table.columns()[0].text(1)), ("Őr".into(), "Żółw".into()), "{name}");
    }
}

/// Place names in a language, and encodings that files in this language use, each with whether it
/// is detected without a declaration. Short Hungarian words are mistaken for windows-1252, which
/// the note reports. KOI8-U has all letters of KOI8-R.
const LANGUAGES: [(&str, &[(&str, bool)]); 9] = [
    (
        "Őriszentpéter,Gödöllő,Székesfehérvár,Hódmezővásárhely,Kőszeg,Győr,Szőlős,Tűzkő,Füzesgyarmat,Törökszentmiklós",
        &[("windows-1250", false), ("ISO-8859-2", false)],
    ),
    (
        "Świnoujście,Łódź,Gdańsk,Żywiec,Kraków,Wrocław,Częstochowa,Białystok,Rzeszów,Źródła",
        &[("windows-1250", true), ("ISO-8859-2", true)],
    ),
    (
        "Москва,Санкт-Петербург,Новосибирск,Екатеринбург,Казань,Нижний Новгород,Челябинск,Самара,Омск,Уфа",
        &[("windows-1251", true), ("KOI8-R", true)],
    ),
    ("Düsseldorf,Köln,München,Nürnberg,Straße,Saarbrücken,Lübeck,Göttingen,Tübingen,Façade", &[("windows-1252", true)]),
    ("Αθήνα,Θεσσαλονίκη,Πάτρα,Ηράκλειο,Λάρισα,Βόλος,Ιωάννινα,Χανιά,Χαλκίδα,Ρόδος", &[("windows-1253", true)]),
    ("İstanbul,Diyarbakır,Eskişehir,Muğla,Şanlıurfa,Kırşehir,Ağrı,Çanakkale,Iğdır,Niğde", &[("windows-1254", true)]),
    (
        "東京都,大阪府,名古屋市,さいたま市,札幌市,ソフトウェア,表示,構成,福岡市,予定",
        &[("Shift_JIS", true), ("EUC-JP", true), ("ISO-2022-JP", true)],
    ),
    (
        "서울특별시,부산광역시,대구광역시,인천광역시,광주광역시,대전광역시,울산광역시,수원시,고양시,용인시",
        &[("EUC-KR", true)],
    ),
    ("北京市,上海市,广州市,深圳市,成都市,杭州市,武汉市,西安市,南京市,重庆市", &[("GBK", true)]),
];

#[test]
fn texts_of_many_encodings_are_read_as_found_or_declared() {
    let traditional = ("臺北市,高雄市,臺中市,臺南市,桃園市,新竹市,基隆市,嘉義市,花蓮縣,許功蓋", &[("Big5", true)][..]);
    for (words, encodings) in LANGUAGES.into_iter().chain([traditional]) {
        let words: Vec<&str> = words.split(',').collect();
        // The first rows are ASCII, so the encoding is detected later.
        let mut text = "place;n\n".to_owned();
        (0..20).for_each(|row| writeln!(text, "x;{row}").unwrap());
        words.iter().for_each(|word| writeln!(text, "{word};1").unwrap());
        for (label, is_found) in encodings {
            let encoding = encoding_rs::Encoding::for_label(label.as_bytes()).unwrap();
            let bytes = encoding.encode(&text).0;
            let declared = Declared { encoding: Some(label.parse().unwrap()), ..Declared::default() };
            let table = table_of(&bytes, &declared);
            let places =
                |table: &Table| (20..30).map(|row| table.columns()[0].text(row).into_owned()).collect::<Vec<_>>();
            assert_eq!(
                (table.encoding().name(), places(&table), table.notes()),
                (encoding.name(), words.iter().map(|word| (*word).to_owned()).collect(), &[][..])
            );
            let found = table_of(&bytes, &Declared::default());
            let notes: Vec<&str> = found.notes().iter().map(|note| &*note.text).collect();
            if *is_found {
                assert_eq!(places(&found), places(&table), "{label}");
            }
            assert!(
                notes[0].starts_with(&format!(
                    "the text is {}: {:?} (line 22)",
                    found.encoding().name(),
                    places(&found)[0]
                )),
                "{notes:?}"
            );
            let file = tempfile::NamedTempFile::new().unwrap();
            std::fs::write(file.path(), &*bytes).unwrap();
            for (chunk, sample) in SIZES {
                let table = read_limited(file.path(), Limits { chunk, sample, ..LIMITS }, &|_| ()).unwrap();
                assert_eq!(
                    (contents(&table), table.encoding().name(), table.notes()),
                    (contents(&found), found.encoding().name(), found.notes()),
                    "{label} {chunk} {sample}"
                );
            }
        }
    }
}

#[test]
fn a_few_damaged_characters_do_not_change_the_encoding_of_the_others() {
    let mut bytes = "place;n\n".as_bytes().to_vec();
    (0..30).for_each(|row| bytes.extend(format!("Köln;{row}\n").bytes()));
    bytes.extend(b"K\xf6ln;7\nK\xf6ln;8\n");
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), &bytes).unwrap();
    for (chunk, sample) in SIZES {
        let table = read_limited(file.path(), Limits { chunk, sample, ..LIMITS }, &|_| ()).unwrap();
        assert_eq!((table.encoding().name(), table.columns()[0].categories().unwrap().names.len()), ("UTF-8", 1));
        let notes: Vec<&str> = table.notes().iter().map(|note| &*note.text).collect();
        assert_eq!(
            notes,
            [
                "2 cells are not UTF-8 and read as windows-1252, first line 32 \"Köln\": correct the file, or declare encoding = \
              \"…\" in [data]"
            ],
            "chunk {chunk}, sample {sample}"
        );
    }
}

#[test]
fn bytes_outside_of_the_declared_encoding_are_shown() {
    let declared = Declared { encoding: Some("shift_jis".parse().unwrap()), ..Declared::default() };
    let notes: Vec<String> =
        table_of(b"a,b\nx,1\n\xff\xfe,2\n", &declared).notes().iter().map(|note| note.text.clone()).collect();
    assert!(
        notes[0].starts_with("the file has bytes that are not Shift_JIS") && notes[0].contains("line 3"),
        "{notes:?}"
    );
}

#[test]
fn a_guess_names_what_another_encoding_would_give() {
    let table = table_of(b"x,b\n\xd5r,1\n\xd5r,2\n", &Declared::default());
    assert_eq!(
        table.notes()[0].text,
        "the text is windows-1252: \"Õr\" (line 2); if it should be \"Őr\", declare encoding = \"windows-1250\" in [data]"
    );
}

/// The values of a column with these cells, its cells as texts, its unit and its notes, read with
/// several chunk sizes.
fn spelled(cells: &[&str]) -> (Vec<Option<f64>>, Vec<String>, Option<String>, Vec<String>) {
    let rows: String = cells.iter().map(|cell| format!("\"{}\";1\n", cell.replace('"', "\"\""))).collect();
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), format!("x;b\n{rows}")).unwrap();
    let read = |(chunk, sample)| {
        let table = read_limited(file.path(), Limits { chunk, sample, ..LIMITS }, &|_| ()).unwrap();
        let column = &table.columns()[0];
        let rows = || 0..table.rows();
        (
            rows().map(|row| column.number(row)).collect::<Vec<_>>(),
            rows().map(|row| column.text(row).into_owned()).collect::<Vec<_>>(),
            column.unit().map(str::to_owned),
            table.notes().iter().map(|note| note.text.clone()).collect::<Vec<_>>(),
        )
    };
    let found = SIZES.map(read);
    assert!(found.iter().all(|other| other == &found[0]), "{cells:?}: {found:?}");
    found[0].clone()
}

#[test]
fn numbers_that_people_and_spreadsheets_write_are_read() {
    for (cells, wanted, unit, note) in [
        (["5K", "619M", "1.5K"], [5000.0, 619e6, 1500.0], None, "multiplied"),
        (["5k", "7k", "1.5k"], [5000.0, 7000.0, 1500.0], None, "\"5k\" is 5000"),
        (["1200", "5K", "1.1M"], [1200.0, 5000.0, 1.1e6], None, "multiplied"),
        (["800", "950", "1.2K"], [800.0, 950.0, 1200.0], None, "\"1.2K\" is 1200"),
        (["5K", "2B", "3M"], [5000.0, 2e9, 3e6], None, "multiplied"),
        (["$5K", "$1.2M", "$500"], [5000.0, 1.2e6, 500.0], Some("$"), "multiplied"),
        (["5 Mio. €", "1,5 Mrd. €", "7 Mio. €"], [5e6, 1.5e9, 7e6], Some("€"), "multiplied"),
        (["1.1 million", "2 billion", "3 million"], [1.1e6, 2e9, 3e6], None, "multiplied"),
        (["12'345.–", "7.–", "1'250.50"], [12345.0, 7.0, 1250.5], None, ""),
        (["CHF 32'190.–", "CHF 2'725.–", "CHF 1'000.50"], [32190.0, 2725.0, 1000.5], Some("CHF"), "CHF"),
        (["1.250,-", "50,--", "7,25"], [1250.0, 50.0, 7.25], None, ""),
        (["4.85", "6,87", "2.5"], [4.85, 6.87, 2.5], None, "both decimal marks"),
        (["4.85", "6,87", "8,43"], [4.85, 6.87, 8.43], None, "both decimal marks"),
        (["1,234.5", "1.234,5", "7"], [1234.5, 1234.5, 7.0], None, "both decimal marks"),
        (["1:23:45", "0:37:34", "12:00:00"], [5025.0, 2254.0, 43200.0], Some("s"), "durations are read as seconds"),
        (["12:30", "59:10", "0:07"], [750.0, 3550.0, 7.0], Some("s"), "minutes and seconds"),
        (["59:10", "1:02:33", "58:01"], [3550.0, 3753.0, 3481.0], Some("s"), "seconds"),
        (["0 days 00:37:34", "0 days 01:00:00", "1 days 00:00:00.5"], [2254.0, 3600.0, 86400.5], Some("s"), "seconds"),
        (["'123", "'7", "'0.5"], [123.0, 7.0, 0.5], None, "spreadsheet"),
        (["=\"00123\"", "=\"00007\"", "=\"12\""], [123.0, 7.0, 12.0], None, "spreadsheet"),
    ] {
        let (values, _, of_column, notes) = spelled(&cells);
        assert_eq!((values, of_column.as_deref()), (some(wanted), unit), "{cells:?} {notes:?}");
        assert!(
            notes.iter().any(|of| of.contains(note)) || note.is_empty() && notes.is_empty(),
            "{cells:?}: {notes:?}"
        );
    }
    // The text stays as written.
    assert_eq!(spelled(&["=\"00123\"", "=\"007\""]).1, ["00123", "007"]);
    assert_eq!(spelled(&["'00123", "'007", "unknown"]).1, ["00123", "007", ""]);
    assert_eq!(spelled(&["1:23:45", "0:00:01"]).1, ["1:23:45", "0:00:01"]);
}

#[test]
fn suffixes_that_may_be_units_or_codes_are_no_powers_of_ten() {
    for cells in [["5m", "7m", "12m"], ["300 K", "310 K", "280 K"], ["5t", "7t", "1t"]] {
        let (values, _, unit, _) = spelled(&cells);
        assert!(unit.is_some() && values[0].is_some_and(|value| value < 1000.0), "{cells:?}: {values:?} {unit:?}");
    }
    for cells in [["3A", "5B", "7K"], ["5B", "7B", "12B"], ["12", "13", "3A"], ["1.250", "6,87", "4.85"]] {
        let (values, ..) = spelled(&cells);
        assert!(values.iter().flatten().all(|value| *value < 1000.0), "{cells:?}: {values:?}");
    }
    // The column's name says that K is kelvin.
    let table = table_of(b"temp;b\n300K;1\n310K;2\n", &Declared::default());
    assert_eq!((table.columns()[0].number(0), table.columns()[0].unit()), (Some(300.0), Some("K")));
    // Times of day in two forms remain ambiguous.
    assert_eq!(spelled(&["8:05", "8:05:30", "9:15"]).0, [None; 3]);
    // A declared mark is the only valid one.
    let declared = Declared { decimal_mark: Some(DecimalMark::Point), ..Declared::default() };
    let table = table_of(b"x;b\n4.85;1\n6,87;2\n2.5;3\n", &declared);
    assert_eq!(table.columns()[0].not_numeric(), 1);
}

#[test]
fn dates_with_names_of_time_zones_are_read_or_named() {
    let (values, .., notes) = spelled(&["2025-03-01 01:00 CET", "2025-03-01 00:00 UTC", "2025-02-28 19:00 EST"]);
    assert_eq!((values, notes), (some([20_148.0; 3]), vec![]));
    let cells: Vec<String> = (1..60).map(|row| format!("2025-03-01 {:02}:{:02} IST", row % 24, row)).collect();
    let (values, .., notes) = spelled(&cells.iter().map(String::as_str).collect::<Vec<_>>());
    assert!(values.iter().all(Option::is_none));
    assert_eq!(
        notes,
        [
            "x: \"2025-03-01 01:01 IST\" looks like a date with a time-zone name that is not understood: convert it to UTC, or \
          write an offset such as +05:30"
        ]
    );
}

#[test]
fn both_orders_of_day_and_month_are_stated_with_lines() {
    let (values, .., notes) = spelled(&["31/01/2025", "01/02/2025", "01/31/2025", "25/12/2025"]);
    assert_eq!(values.iter().flatten().count(), 3);
    assert_eq!(
        notes,
        [
            "x: 1 cell is not a date, first line 4 \"01/31/2025\"",
            "x: both orders of day and month occur: 2 cells with the day first (line 2, \"31/01/2025\") and 1 cell with the \
             month first (line 4, \"01/31/2025\"); all dates are read with the day first, which may be wrong for others: \
             write them as 2025-01-31"
        ]
    );
}

#[test]
fn a_word_that_makes_a_small_column_text_is_named_with_its_line() {
    let (values, .., notes) = spelled(&["1", "abc"]);
    assert_eq!(values, [None; 2]);
    assert_eq!(
        notes,
        [
            "x: 1 of 2 cells are numbers, but the column is read as text, since others are not, first line 3 \"abc\": correct \
          them, or declare it in [data.columns]: x = \"number\""
        ]
    );
    assert_eq!(spelled(&["A1", "B2", "C3", "D4", "E5", "7"]).3, Vec::<String>::new());
}

#[test]
fn long_texts_are_shortened_in_notes() {
    let long = "y".repeat(200_000);
    for cells in [&["1", "2", &long][..], &["1", &long], &["2025-01-01", "2025-01-02", &long]] {
        let notes = spelled(cells).3;
        assert!(!notes.is_empty() && notes.iter().all(|note| note.chars().count() < 400), "{cells:?}");
    }
    let error = read_bytes(format!("{long}\n1\n").as_bytes(), LIMITS.chunk, LIMITS.sample, false).unwrap_err();
    assert!(error.len() < 300, "{error}");
}

#[test]
fn a_column_keeps_the_order_in_which_its_dates_were_read() {
    for (cells, wanted) in [
        (["31/01/2025", "01/02/2025"], Some(Role::DayFirst)),
        (["01/31/2025", "01/02/2025"], Some(Role::MonthFirst)),
        (["01/02/2025", "03/04/2025"], Some(Role::DayFirst)),
        (["2025-01-31", "2025-02-01"], None),
        (["1", "2"], None),
    ] {
        let table = table_of(format!("x,b\n{},1\n{},2\n", cells[0], cells[1]).as_bytes(), &Declared::default());
        assert_eq!(table.columns()[0].date_order(), wanted, "{cells:?}");
    }
}
