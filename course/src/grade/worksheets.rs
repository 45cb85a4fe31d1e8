//! Grades in the tables that Moodle and Canvas export and import: Moodle's offline grading
//! worksheet and Canvas's gradebook.
//!
//! Rows are matched to submissions by the ID that the platform writes into both: Moodle's
//! participant ID or Canvas's user ID.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use clap::Args;
use command_line::counted;

use super::lateness::{Moment, Policy};
use super::results::{Grade, escaped};
use super::sheet::Sheet;

/// Platform tables that receive the grades of a class.
#[derive(Args)]
pub(super) struct Options {
    /// With --all: Moodle's grading worksheet; WORKSHEET-graded.csv next to it gets the grades and
    /// the feedback
    #[arg(long, value_name = "WORKSHEET.csv", requires = "all")]
    moodle: Option<PathBuf>,
    /// With --all: Canvas's exported gradebook; GRADEBOOK-graded.csv next to it gets the grades of
    /// the assignment
    #[arg(long, value_name = "GRADEBOOK.csv", requires = "all")]
    canvas: Option<PathBuf>,
    /// With --canvas: the assignment's name or number, if the gradebook has several
    #[arg(long, value_name = "NAME", requires = "canvas")]
    canvas_assignment: Option<String>,
}

/// A table with a row for each student.
pub(super) struct Worksheet {
    sheet: Sheet,
    output: PathBuf,
    students: Vec<Student>,
    grade: usize,
    /// Moodle's feedback column, which exists if the assignment has "Feedback comments".
    feedback: Option<usize>,
    /// Moodle's column of hand-in times.
    time: Option<usize>,
    /// Extracts candidates for the student's name and ID from the name of a submission.
    ids_of: fn(&str) -> Vec<(&str, &str)>,
}

struct Student {
    id: String,
    name: String,
    /// Index of the row.
    row: usize,
    /// Maximum grade on the platform.
    maximum: f64,
}

impl Options {
    /// Files that are not submissions.
    pub(super) fn files(&self) -> Vec<PathBuf> {
        self.moodle.iter().chain(&self.canvas).flat_map(|file| [file.clone(), output_of(file)]).collect()
    }

    /// Input files.
    pub(super) fn inputs(&self) -> impl Iterator<Item = &Path> {
        [&self.moodle, &self.canvas].into_iter().flatten().map(PathBuf::as_path)
    }

    /// Reads the tables.
    ///
    /// # Errors
    /// If a table is not in its platform's format.
    pub(super) fn read(&self) -> Result<Vec<Worksheet>> {
        let moodle = self.moodle.iter().map(|file| Worksheet::of_moodle(Sheet::read(file)?, file));
        let canvas = self.canvas.iter();
        let canvas =
            canvas.map(|file| Worksheet::of_canvas(Sheet::read(file)?, file, self.canvas_assignment.as_deref()));
        moodle.chain(canvas).collect()
    }
}

impl Worksheet {
    fn of_moodle(sheet: Sheet, file: &Path) -> Result<Self> {
        let column = |name: &str| {
            sheet
                .column(name)
                .context("no grading worksheet of Moodle in English (set Moodle's language to English to export it)")
        };
        let (id, grade, maximum) = (column("Identifier")?, column("Grade")?, column("Maximum grade")?);
        // Moodle does not import a worksheet without this column.
        column("Last modified (grade)")?;
        let name = sheet.find("Full name")?.unwrap_or(id);
        let mut students = Vec::new();
        for (index, row) in sheet.rows.iter().enumerate() {
            let number = row.cells[id].trim_start_matches(|letter: char| !letter.is_ascii_digit());
            ensure!(
                is_number(number),
                "{}: Identifier is {:?}, expected \"Participant 123\"",
                sheet.place(row),
                row.cells[id]
            );
            let maximum = maximum_in(&row.cells[maximum]).with_context(|| sheet.place(row))?;
            students.push(Student { id: number.to_owned(), name: row.cells[name].clone(), row: index, maximum });
        }
        let (feedback, time) = (sheet.find("Feedback comments")?, sheet.find("Last modified (submission)")?);
        Self { sheet, output: output_of(file), students, grade, feedback, time, ids_of: ids_at_moodle }.checked()
    }

    /// Canvas imports the columns that identify a student and the columns of the given assignments.
    /// The other columns are dropped, since their grades may have changed since the export.
    fn of_canvas(sheet: Sheet, file: &Path, assignment: Option<&str>) -> Result<Self> {
        let column = |name: &str| sheet.column(name).context("no gradebook of Canvas");
        let (name, id, section) = (column("Student")?, column("ID")?, column("Section")?);
        let graded = assignment_in(&sheet, assignment).with_context(|| file.display().to_string())?;
        let title = sheet.header[graded].clone();
        let of_student = [Some(name), Some(id), sheet.find("SIS User ID")?, sheet.find("SIS Login ID")?, Some(section)];
        let mut columns: Vec<usize> = of_student.into_iter().flatten().collect();
        columns.push(graded);
        let points = sheet.rows.iter().find(|row| row.cells[name].trim().eq_ignore_ascii_case("points possible"));
        let points = points.with_context(|| format!("{} has no row \"Points Possible\"", file.display()))?;
        let maximum = maximum_in(&points.cells[graded]).with_context(|| format!("{}, {title}", sheet.place(points)))?;
        let mut students = Vec::new();
        for (index, row) in sheet.rows.iter().enumerate().filter(|(_, row)| !row.cells[id].trim().is_empty()) {
            let number = row.cells[id].trim();
            ensure!(is_number(number), "{}: ID is {number:?}, expected a number", sheet.place(row));
            students.push(Student { id: number.to_owned(), name: row.cells[name].clone(), row: index, maximum });
        }
        let sheet = sheet.with_columns(&columns);
        Self {
            sheet,
            output: output_of(file),
            students,
            grade: columns.len() - 1,
            feedback: None,
            time: None,
            ids_of: |name| id_at_canvas(name).into_iter().map(|id| ("", id)).collect(),
        }
        .checked()
    }

    fn checked(self) -> Result<Self> {
        let mut known = BTreeMap::new();
        for student in &self.students {
            let row = &self.sheet.rows[student.row];
            if let Some(line) = known.insert(&student.id, row.line) {
                bail!("{}: {} is also in line {line}", self.sheet.place(row), student.id);
            }
        }
        Ok(self)
    }

    /// Finds the student of a submission. If its name contains several IDs, the one after the
    /// student's name counts, otherwise the first.
    fn student_of(&self, submission: &str) -> Option<&Student> {
        let known = |(name, id)| Some((name, self.students.iter().find(|student| student.id == id)?));
        let known: Vec<(&str, &Student)> = (self.ids_of)(submission).into_iter().filter_map(known).collect();
        let named = known.iter().find(|(name, student)| *name == student.name);
        named.or(known.first()).map(|(_, student)| *student)
    }

    /// Returns when a submission was handed in, if the table says so.
    ///
    /// # Errors
    /// If the table's entry is not a valid time.
    pub(super) fn time_of(&self, name: &str, policy: &Policy) -> Result<Option<Moment>> {
        let (Some(time), Some(student)) = (self.time, self.student_of(name)) else { return Ok(None) };
        let row = &self.sheet.rows[student.row];
        match row.cells[time].trim() {
            "" | "-" => Ok(None),
            text => {
                let place = || format!("{}: {text:?} is no time in English: give --times", self.sheet.place(row));
                policy.time_in_words(text).with_context(place).map(Some)
            }
        }
    }

    /// Writes the table with the grades. The returned lines give the number of grades, the students
    /// without a submission, and the submissions without a student.
    ///
    /// # Errors
    /// If the table cannot be written.
    pub(super) fn write(mut self, grades: &[(String, Grade)]) -> Result<Vec<String>> {
        let mut lines = Vec::new();
        let mut of_student: BTreeMap<String, Vec<&(String, Grade)>> = BTreeMap::new();
        let mut unknown = Vec::new();
        for graded in grades {
            match self.student_of(&graded.0) {
                Some(student) => of_student.entry(student.id.clone()).or_default().push(graded),
                None => unknown.push(graded.0.as_str()),
            }
        }
        let (mut missing, mut excused, mut count) = (Vec::new(), Vec::new(), 0);
        for student in &self.students {
            let cells = &mut self.sheet.rows[student.row].cells;
            let Some(submissions) = of_student.get(&student.id) else {
                missing.push(student.name.as_str());
                continue;
            };
            if cells[self.grade].trim().eq_ignore_ascii_case("EX") {
                excused.push(student.name.as_str());
                continue;
            }
            // The first submission with the highest points counts.
            let Some((name, grade)) = submissions.iter().rev().max_by(|a, b| a.1.points().total_cmp(&b.1.points()))
            else {
                continue;
            };
            if submissions.len() > 1 {
                lines.push(format!("{} has {}: {name} counts", student.name, counted(submissions.len(), "submission")));
            }
            cells[self.grade] = ((grade.points() * student.maximum).round() / 100.0).to_string();
            if let Some(feedback) = self.feedback {
                cells[feedback] = format!("<pre>{}</pre>", html_of(grade.to_text().trim_end()));
            }
            count += 1;
        }
        self.sheet.write(&self.output)?;
        lines.insert(0, format!("{}: {}", self.output.display(), counted(count, "grade")));
        for (what, names) in [
            ("without a submission, left as they were", missing),
            ("excused, left as they were", excused),
            ("submissions of no student in the table", unknown),
        ] {
            if !names.is_empty() {
                lines.push(format!("{what}: {}", names.join("; ")));
            }
        }
        Ok(lines)
    }
}

/// Converts text to HTML for a cell. No line, and no text after an entity, can be a formula: the
/// characters that start formulas become entities.
fn html_of(text: &str) -> String {
    let mut html = String::new();
    for letter in escaped(text).replace("&#10;", "\n").chars() {
        match letter {
            '=' | '+' | '-' | '@' if html.ends_with([';', '\t', '\n']) => {
                html.push_str(&format!("&#{};", u32::from(letter)));
            }
            letter => html.push(letter),
        }
    }
    html
}

fn output_of(file: &Path) -> PathBuf {
    let stem = file.file_stem().unwrap_or_default().to_string_lossy();
    file.with_file_name(format!("{stem}-graded.csv"))
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Parses a maximum of points, with a decimal point or a decimal comma.
fn maximum_in(cell: &str) -> Result<f64> {
    let maximum =
        cell.trim().replace(',', ".").parse().ok().filter(|maximum: &f64| *maximum > 0.0 && maximum.is_finite());
    maximum.with_context(|| format!("the maximum of the grade is {cell:?}, expected a number above 0"))
}

/// Finds the column of an assignment, which is named "NAME (NUMBER)".
fn assignment_in(sheet: &Sheet, wanted: Option<&str>) -> Result<usize> {
    let parts = |title: &str| -> Option<(String, String)> {
        let (name, number) = title.strip_suffix(')')?.rsplit_once(" (")?;
        is_number(number).then(|| (name.to_owned(), number.to_owned()))
    };
    let assignments = sheet.header.iter().enumerate().filter_map(|(column, title)| Some((column, parts(title)?)));
    let mut assignments: Vec<(usize, (String, String))> = assignments.collect();
    let all: Vec<String> = assignments.iter().map(|(_, (name, number))| format!("{name} ({number})")).collect();
    let all = if all.is_empty() { "none".to_owned() } else { all.join(", ") };
    if let Some(wanted) = wanted {
        assignments.retain(|(column, (name, number))| {
            [name, number, &sheet.header[*column]].iter().any(|text| *text == wanted)
        });
    }
    match (&assignments[..], wanted) {
        ([(column, _)], _) => Ok(*column),
        ([], None) => bail!("the gradebook has no assignment, which is a column \"NAME (NUMBER)\""),
        ([], Some(wanted)) => bail!("the gradebook has no assignment {wanted:?}: --canvas-assignment is one of {all}"),
        (_, None) => bail!("the gradebook has several assignments: add --canvas-assignment with one of {all}"),
        (_, Some(wanted)) => {
            bail!("the gradebook has several assignments {wanted:?}: give the number to --canvas-assignment: {all}")
        }
    }
}

/// The name and participant ID in Moodle's `NAME_NUMBER_assignsubmission_file_FILE`. The student's
/// name and the file name may contain similar patterns.
fn ids_at_moodle(name: &str) -> Vec<(&str, &str)> {
    let before = name.match_indices("_assignsubmission_").map(|(end, _)| &name[..end]);
    before.filter_map(|before| before.rsplit_once('_')).filter(|(_, id)| is_number(id)).collect()
}

/// The user ID in Canvas's `NAME_USER_ATTACHMENT_FILE` or `NAME_LATE_USER_ATTACHMENT_FILE`.
fn id_at_canvas(name: &str) -> Option<&str> {
    let mut parts = name.split('_').skip(1).skip_while(|part| part.eq_ignore_ascii_case("late"));
    let id = parts.next().filter(|id| is_number(id))?;
    parts.next().is_some_and(is_number).then_some(id)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grade::results::Item;

    const MOODLE: &str = "\u{feff}Identifier,\"Full name\",\"Email address\",Status,Grade,\"Maximum Grade\",\"Grade can be changed\",\
        \"Last modified (submission)\",\"Last modified (grade)\",\"Feedback comments\"\n\
        \"Participant 101\",\"Ada Lovelace\",ada@example.org,\"Submitted for grading\",,100.00,Yes,\"Monday, 1 June 2026, 2:14 PM\",-,\n\
        \"Participant 102\",\"Grace, Hopper\",grace@example.org,\"Submitted for grading\",,\"10,00\",Yes,-,-,\n\
        \"Participant 103\",\"Alan Turing\",alan@example.org,\"No submission\",7.00,100.00,Yes,-,-,old\n";
    const CANVAS: &str = "Student,ID,SIS User ID,SIS Login ID,Section,Essay (11),HW 1 (12),Current Score\n\
        \x20   Points Possible,,,,,10.00,50.00,(read only)\n\
        \"Lovelace, Ada\",101,S1,ada,A,9,,90\n\
        \"Hopper, Grace\",102,S2,grace,A,8,EX,80\n\
        \"Turing, Alan\",103,S3,alan,A,7,3,70\n\
        \"Student, Test\",104,,test,A,,,\n";

    fn grade(points: f64, feedback: &str) -> Grade {
        let item = Item { package: "utils", name: "a".to_owned(), points, maximum: 8.0, feedback: feedback.to_owned() };
        Grade::new(vec![item], 8.0, Vec::new())
    }

    fn read(text: &str, platform: &str, assignment: Option<&str>) -> (tempfile::TempDir, Result<Vec<Worksheet>>) {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("table.csv");
        std::fs::write(&file, text).unwrap();
        let is_moodle = platform == "moodle";
        let options = Options {
            moodle: is_moodle.then(|| file.clone()),
            canvas: (!is_moodle).then_some(file),
            canvas_assignment: assignment.map(str::to_owned),
        };
        let worksheets = options.read();
        (folder, worksheets)
    }

    /// Returns the written table and the printed lines.
    fn written(
        text: &str,
        platform: &str,
        assignment: Option<&str>,
        grades: &[(&str, Grade)],
    ) -> (String, Vec<String>) {
        let (folder, worksheets) = read(text, platform, assignment);
        let grades: Vec<_> = grades.iter().map(|(name, grade)| ((*name).to_owned(), grade.clone())).collect();
        let lines = worksheets.unwrap().remove(0).write(&grades).unwrap();
        (std::fs::read_to_string(folder.path().join("table-graded.csv")).unwrap(), lines)
    }

    #[test]
    fn grade_fills_in_moodles_worksheet() {
        let grades = [
            ("Ada Lovelace_101_assignsubmission_file", grade(6.0, "a <= b\n=c")),
            ("Grace Hopper_102_assignsubmission_file_report.pdf", grade(0.0, "a PDF file")),
            ("Grace Hopper_102_assignsubmission_file_homework.zip", grade(8.0, "")),
            ("Somebody Else_999_assignsubmission_file", grade(8.0, "")),
        ];
        let (table, lines) = written(MOODLE, "moodle", None, &grades);
        assert_eq!(
            lines[1..],
            [
                "Grace, Hopper has 2 submissions: Grace Hopper_102_assignsubmission_file_homework.zip counts",
                "without a submission, left as they were: Alan Turing",
                "submissions of no student in the table: Somebody Else_999_assignsubmission_file",
            ]
        );
        assert!(lines[0].ends_with("table-graded.csv: 2 grades"), "{lines:?}");
        assert!(table.starts_with("\u{feff}\"Identifier\",\"Full name\","), "{table}");
        let table = table.replace('"', "");
        assert!(
            table.contains("Submitted for grading,75,100.00,Yes,Monday, 1 June 2026, 2:14 PM,-,<pre>[-]"),
            "{table}"
        );
        assert!(
            table.contains("a &lt;&#61; b\n") && table.contains(" =c\n") && table.contains("75 of 100 points</pre>"),
            "{table}"
        );
        // The maximum is 10 points, and the better of two submissions counts.
        assert!(table.contains("Grace, Hopper,grace@example.org,Submitted for grading,10,10,00"), "{table}");
        assert!(
            table.contains("Participant 103,Alan Turing,alan@example.org,No submission,7.00,100.00,Yes,-,-,old"),
            "{table}"
        );
    }

    /// Neither a student's name nor a file name can assign a submission to another student.
    #[test]
    fn grade_knows_the_student_of_a_name_with_several_numbers() {
        let text = MOODLE.replace("Alan Turing", "Alan_102_assignsubmission_file");
        let (_folder, worksheets) = read(&text, "moodle", None);
        let worksheet = worksheets.unwrap().remove(0);
        for (name, expected) in [
            ("Alan_102_assignsubmission_file_103_assignsubmission_file", Some("103")),
            ("Ada Lovelace_101_assignsubmission_file_x_102_assignsubmission_file.zip", Some("101")),
            ("Ada_101_assignsubmission_file_x_102_assignsubmission_file.zip", Some("101")),
            ("Ada_999_assignsubmission_file_x.zip", None),
        ] {
            assert_eq!(worksheet.student_of(name).map(|student| student.id.as_str()), expected, "{name}");
        }
    }

    #[test]
    fn grade_fills_in_canvass_gradebook() {
        let grades = [
            ("lovelaceada_101_5501_homework.zip", grade(6.0, "")),
            ("hoppergrace_LATE_102_5502_homework.zip", grade(8.0, "")),
            ("unknown.zip", grade(8.0, "")),
        ];
        for assignment in ["HW 1", "12", "HW 1 (12)"] {
            let expected = "Student,ID,SIS User ID,SIS Login ID,Section,HW 1 (12)\n\
                \x20   Points Possible,,,,,50.00\n\
                \"Lovelace, Ada\",101,S1,ada,A,37.5\n\
                \"Hopper, Grace\",102,S2,grace,A,EX\n\
                \"Turing, Alan\",103,S3,alan,A,3\n\
                \"Student, Test\",104,,test,A,\n";
            let (table, lines) = written(CANVAS, "canvas", Some(assignment), &grades);
            let quoted = |table: &str| Sheet::of_text(Path::new("a.csv"), table).unwrap();
            assert_eq!((&quoted(&table).header, quoted(&table).rows.len()), (&quoted(expected).header, 5));
            assert_eq!(table.replace('"', ""), expected.replace('"', ""));
            assert_eq!(lines[2], "excused, left as they were: Hopper, Grace");
        }
        let german = CANVAS.replace("10.00,50.00", "\"10,0\",\"50,0\"");
        assert!(written(&german, "canvas", Some("12"), &grades).0.contains("\"ada\",\"A\",\"37.5\"\n"));
    }

    #[test]
    fn grade_names_what_is_wrong_in_a_platforms_table() {
        for (platform, text, assignment, message) in [
            ("moodle", "Anmeldename,Bewertung\nx,1\n".to_owned(), None, "set Moodle's language to English"),
            ("moodle", MOODLE.replace("Participant 102", "Participant"), None, "line 3: Identifier is \"Participant\""),
            ("moodle", MOODLE.replace("Participant 102", "Participant 101"), None, "line 3: 101 is also in line 2"),
            ("moodle", MOODLE.replace("\"10,00\"", "-"), None, "line 3: the maximum of the grade is \"-\""),
            ("moodle", CANVAS.to_owned(), None, "has no column \"Identifier\""),
            ("canvas", MOODLE.to_owned(), None, "no gradebook of Canvas"),
            ("canvas", CANVAS.to_owned(), None, "add --canvas-assignment with one of Essay (11), HW 1 (12)"),
            (
                "canvas",
                CANVAS.to_owned(),
                Some("HW"),
                "no assignment \"HW\": --canvas-assignment is one of Essay (11), HW 1 (12)",
            ),
            (
                "canvas",
                CANVAS.replace("Essay (11)", "HW 1 (11)"),
                Some("HW 1"),
                "give the number to --canvas-assignment",
            ),
            (
                "canvas",
                CANVAS.replace("    Points Possible,,,,,10.00,50.00", "x,,,,,,"),
                Some("12"),
                "no row \"Points Possible\"",
            ),
            (
                "canvas",
                CANVAS.replace("50.00", "0.00"),
                Some("12"),
                "line 2, HW 1 (12): the maximum of the grade is \"0.00\"",
            ),
            ("canvas", CANVAS.replace(",103,", ",x3,"), Some("12"), "line 5: ID is \"x3\""),
        ] {
            let (_folder, worksheets) = read(&text, platform, assignment);
            let error = format!("{:#}", worksheets.err().unwrap());
            assert!(error.contains(message) && !error.contains('\n'), "{message}: {error}");
            assert!(error.contains("table.csv"), "no file: {error}");
        }
    }

    #[test]
    fn grade_finds_the_students_number_in_a_submissions_name() {
        for (name, moodle, canvas) in [
            ("Ada Lovelace_101_assignsubmission_file", Some("101"), None),
            ("Ada Lovelace_101_assignsubmission_file_", Some("101"), None),
            ("Participant_101_assignsubmission_file_hw_1.zip", Some("101"), None),
            ("Ada_x_assignsubmission_file", None, None),
            ("Ada_King_Lovelace_101_assignsubmission_file", Some("101"), None),
            ("Ada_x7_101_assignsubmission_file_hw_1.zip", Some("101"), None),
            ("_101_assignsubmission_onlinetext", Some("101"), None),
            ("lovelaceada_101_5501_homework.zip", None, Some("101")),
            ("lovelaceada_late_101_5501_homework.zip", None, Some("101")),
            ("lovelaceada_LATE_101_5501_homework-1.zip", None, Some("101")),
            ("homework_1.zip", None, None),
            ("homework.zip", None, None),
        ] {
            let at_moodle = ids_at_moodle(name).first().map(|(_, id)| *id);
            assert_eq!((at_moodle, id_at_canvas(name)), (moodle, canvas), "{name}");
        }
    }
}
