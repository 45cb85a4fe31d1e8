//! Valid CSV files: a real price file compared with the csv crate cell by cell, legacy encodings, pipes.

use flate2::read::MultiGzDecoder;
use regression_studio::table::{Categories, Kind, Table, csv};

fn table(bytes: &[u8]) -> Table {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), bytes).unwrap();
    csv::read(file.path()).unwrap()
}

#[test]
fn a_real_price_file_is_read_as_by_the_csv_crate() {
    let Some(path) = test_support::path_in("STOCKS_CSV", test_support::Need::Stocks) else { return };
    let table = csv::read(&path).unwrap();
    assert_eq!(
        (table.rows(), table.columns().len(), table.source()),
        (411_668, 15, path.display().to_string().as_str())
    );
    let missing: usize = table.columns().iter().map(|column| column.missing()).sum();
    assert_eq!((missing, table.line(411_667)), (2 * 41_065, Some(411_669)));

    let file = MultiGzDecoder::new(std::fs::File::open(&path).unwrap());
    let mut reader = ::csv::ReaderBuilder::new().trim(::csv::Trim::All).from_reader(file);
    let names: Vec<&str> = table.columns().iter().map(|column| column.name()).collect();
    assert_eq!(reader.headers().unwrap().iter().collect::<Vec<_>>(), names);
    let (mut record, mut row) = (::csv::StringRecord::new(), 0);
    while reader.read_record(&mut record).unwrap() {
        for (column, cell) in table.columns().iter().zip(&record) {
            match column.kind() {
                Kind::Number if !column.is_date() => {
                    assert_eq!(column.number(row), cell.parse().ok(), "row {row}, {}", column.name());
                }
                _ => assert_eq!(column.text(row), cell, "row {row}, {}", column.name()),
            }
        }
        row += 1;
    }
    assert_eq!(row, table.rows());
    let dates = table.column("DATE1").unwrap();
    assert!(dates.is_date());
    // 1 January and 31 July 2025.
    let days = dates.numbers().unwrap().iter().copied();
    assert_eq!((days.clone().reduce(f64::min), days.reduce(f64::max)), (Some(20_089.0), Some(20_300.0)));
}

#[test]
fn columns_have_names_kinds_and_counts() {
    let table = table(b"name, price, series\nx, 1.5, EQ\n y , -, \nz, bad, BE\nw, 2, EQ\n");
    assert_eq!((table.rows(), table.columns().len()), (4, 3));
    let price = table.column("price").unwrap();
    assert_eq!((price.kind(), price.missing(), price.not_numeric()), (Kind::Number, 1, 1));
    assert_eq!((0..4).map(|row| price.number(row)).collect::<Vec<_>>(), [Some(1.5), None, None, Some(2.0)]);
    assert_eq!((0..4).map(|row| price.text(row).into_owned()).collect::<Vec<_>>(), ["1.5", "", "bad", "2"]);
    let series = table.column("series").unwrap().categories().unwrap();
    assert_eq!(series.names.iter().collect::<Vec<_>>(), ["EQ", "BE"]);
    assert_eq!(series.indices, [0, Categories::MISSING, 1, 0]);
    assert!(table.column(" price").is_none());
    assert_eq!((table.line(0), table.line(3), table.line(4)), (Some(2), Some(5), None));
}

#[test]
fn a_column_is_numeric_if_more_than_half_of_its_values_are_numbers() {
    let kinds = |text: &str| table(text.as_bytes()).columns().iter().map(|column| column.kind()).collect::<Vec<_>>();
    assert_eq!(kinds("a,b,c\n1,1,-\nx,x,-\n2,-,-\n"), [Kind::Number, Kind::Text, Kind::Text]);
}

#[test]
fn files_of_other_systems_and_locales_are_read() {
    let cells = |bytes: &[u8]| -> Vec<String> {
        let table = table(bytes);
        (0..table.rows())
            .flat_map(|row| table.columns().iter().map(move |column| (column, row)))
            .map(|(column, row)| column.text(row).into_owned())
            .collect()
    };
    assert_eq!(cells(b"a,b\r1,x\r\r2,y"), ["1", "x", "2", "y"]);
    assert_eq!(cells(b"Preis;Gr\xf6\xdfe\r\n1,5;\xfc\r\n-2;\x80\r\n"), ["1.5", "ü", "-2", "€"]);
    assert_eq!(cells("\u{feff}a\tb\n1, 2\tx y\n".as_bytes()), ["1, 2", "x y"]);
    assert_eq!(table(b"Preis;Gr\xf6\xdfe\n1;2\n").columns()[1].name(), "Größe");
}

#[test]
#[cfg(target_os = "linux")]
fn a_pipe_is_read_in_one_pass_whatever_its_column_kinds() {
    use std::io::Write;
    use std::os::fd::AsRawFd;

    let (reader, mut writer) = std::io::pipe().unwrap();
    let rows: String =
        (0..100_000).map(|row| format!("{row},{}{row:03}\n", if row < 40_000 { "" } else { "K" })).collect();
    let writing = std::thread::spawn(move || writer.write_all(format!("a,b\n{rows}").as_bytes()).unwrap());
    let table = csv::read(std::path::Path::new(&format!("/proc/self/fd/{}", reader.as_raw_fd()))).unwrap();
    writing.join().unwrap();
    assert_eq!(table.rows(), 100_000);
    assert_eq!((table.columns()[0].number(99_999), table.columns()[1].text(7).as_ref()), (Some(99_999.0), "007"));
}
