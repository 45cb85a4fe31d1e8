//! A page about a class: the distribution of points, how many submissions pass each test, and
//! submissions that resemble others or the published solutions.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::results::{Grade, escaped};
use super::similarity::{Cluster, Files, Likeness, Pair, Place};

/// Beginning of a page. It contains only text and styles: if HTML from a submission ever got into
/// it, the browser would neither run nor load anything.
pub(super) const HEAD: &str = "<!doctype html>
<html lang=\"en\">
<meta charset=\"utf-8\">
<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'\">
<title>Grades</title>
<style>
body { font-family: sans-serif; max-width: 80em; margin: 2em auto; padding: 0 1em; }
td, th { vertical-align: top; text-align: left; padding: 0.2em 1em 0.2em 0; }
td.number { text-align: right; }
.bar { display: inline-block; height: 0.8em; background: #4477aa; }
.alike td { width: 50%; }
pre { background: #f4f4f4; padding: 0.5em; overflow-x: auto; white-space: pre-wrap; }
</style>
";

/// Sources of the submissions and of the published solutions, by name.
type Sources<'a> = BTreeMap<&'a str, &'a Files>;

/// Returns the page about the grades of the named submissions, and the similarities of their
/// sources.
pub(super) fn html(grades: &[(String, Grade)], found: &Likeness, sources: &Sources) -> String {
    let mut page = HEAD.to_owned();
    distribution(&mut page, grades);
    tests(&mut page, grades);
    notes(&mut page, grades);
    published(&mut page, &found.published, sources);
    clusters(&mut page, &found.clusters, sources);
    alike(&mut page, &found.pairs, sources);
    page + "</html>\n"
}

/// Returns a bar for a fraction from 0 to 1.
fn bar(share: f64) -> String {
    format!("<span class=\"bar\" style=\"width: {:.1}em\"></span>", 20.0 * share)
}

/// Adds a histogram of the points, in tenths of the maximum.
fn distribution(page: &mut String, grades: &[(String, Grade)]) {
    let maximum = grades.iter().map(|(_, grade)| grade.maximum()).fold(0.0, f64::max);
    let mut points: Vec<f64> = grades.iter().map(|(_, grade)| grade.points()).collect();
    points.sort_by(f64::total_cmp);
    let (count, mean) = (points.len(), points.iter().sum::<f64>() / points.len().max(1) as f64);
    let median = points.get(count / 2).map_or(0.0, |upper| (upper + points[(count - 1) / 2]) / 2.0);
    let _ = writeln!(
        page,
        "<h1>{count} submissions</h1>\n<p>Of {maximum} points: mean {mean:.1}, median {median:.1}.</p>\n<table>\n<tr><th>points<th>submissions<th>"
    );
    let mut bins = [0_usize; 11];
    for points in &points {
        bins[(10.0 * points / maximum.max(1.0)) as usize] += 1;
    }
    let most = bins.iter().copied().max().unwrap_or(1).max(1) as f64;
    for (index, &bin) in bins.iter().enumerate() {
        let start = maximum * index as f64 / 10.0;
        let range = if index == 10 {
            format!("{maximum}")
        } else {
            format!("{start} to below {}", maximum * (index + 1) as f64 / 10.0)
        };
        let _ = writeln!(page, "<tr><td>{range}<td class=\"number\">{bin}<td>{}", bar(bin as f64 / most));
    }
    page.push_str("</table>\n");
}

/// Adds the fraction of submissions that pass each test.
fn tests(page: &mut String, grades: &[(String, Grade)]) {
    page.push_str("<h2>Tests</h2>\n<table>\n<tr><th>part<th>test<th>passed<th>\n");
    let Some((_, first)) = grades.first() else { return page.push_str("</table>\n") };
    for (index, item) in first.items.iter().enumerate() {
        // All submissions have the same tests.
        let passed = grades.iter().filter(|(_, grade)| grade.items[index].points == item.maximum).count();
        let share = passed as f64 / grades.len() as f64;
        let (package, name) = (item.package, escaped(&item.name));
        let _ =
            writeln!(page, "<tr><td>{package}<td>{name}<td class=\"number\">{:.0} %<td>{}", 100.0 * share, bar(share));
    }
    page.push_str("</table>\n");
}

/// Adds lateness and manually set points, if there are any.
fn notes(page: &mut String, grades: &[(String, Grade)]) {
    let mut noted =
        grades.iter().map(|(name, grade)| (name, grade.notes())).filter(|(_, notes)| !notes.is_empty()).peekable();
    if noted.peek().is_none() {
        return;
    }
    page.push_str("<h2>Late, and set by hand</h2>\n<table>\n<tr><th>submission<th>note\n");
    for (name, notes) in noted {
        let notes: Vec<String> = notes.iter().map(|note| escaped(note)).collect();
        let _ = writeln!(page, "<tr><td>{}<td>{}", escaped(name), notes.join("<br>"));
    }
    page.push_str("</table>\n");
}

/// Adds the submissions that resemble the published solutions, with the passages side by side.
fn published(page: &mut String, pairs: &[Pair], sources: &Sources) {
    page.push_str(
        "<h2>Like the published solution</h2>\n<p>Compared are the parts of a submission, one by one, with the solutions that \
         <code>cargo course starter --solutions</code> writes (solutions/) and with this project's own crates (project/). \
         These are places to read, not verdicts: a short loop is often the only natural one.</p>\n",
    );
    none_if(page, pairs.is_empty());
    for pair in pairs {
        let [name, solution] = pair.names.each_ref().map(|name| escaped(name));
        side_by_side(page, &format!("{name}: {:.0} % with {solution}", 100.0 * pair.share), pair, sources);
    }
}

/// Adds code that many submissions share, once for each cluster.
fn clusters(page: &mut String, clusters: &[Cluster], sources: &Sources) {
    page.push_str(
        "<h2>In many submissions</h2>\n<p>Code that was not given, and that more than 20 % of the class have in the same form: \
         the natural one, or one source of several copies.</p>\n",
    );
    none_if(page, clusters.is_empty());
    for Cluster { names, example, places, is_published } in clusters {
        let published = if *is_published { ", most of it as in the published solution" } else { "" };
        let _ = writeln!(page, "<details>\n<summary>{} submissions{published}</summary>", names.len());
        let names: Vec<String> = names.iter().map(|name| escaped(name)).collect();
        let _ = writeln!(page, "<p>{}</p>\n<p>The places in {}:</p>", names.join(", "), escaped(example));
        for place in places {
            let _ = writeln!(page, "<p>{}</p>\n<pre>{}</pre>", title(place), lines_of(example, place, sources));
        }
        page.push_str("</details>\n");
    }
}

/// Adds the pairs of similar submissions, with the passages side by side.
fn alike(page: &mut String, pairs: &[Pair], sources: &Sources) {
    page.push_str(
        "<h2>Submissions that are alike</h2>\n<p>Names, literals, comments and layout do not count, nor does code that was given or \
         that is listed above as in many. These are places to read, not verdicts: short functions of one assignment are alike.</p>\n",
    );
    none_if(page, pairs.is_empty());
    for pair in pairs {
        let [a, b] = pair.names.each_ref().map(|name| escaped(name));
        side_by_side(page, &format!("{:.0} %: {a} and {b}", 100.0 * pair.share), pair, sources);
    }
}

fn none_if(page: &mut String, is_empty: bool) {
    if is_empty {
        page.push_str("<p>None.</p>\n");
    }
}

/// Adds a table with a pair's passages in two columns.
fn side_by_side(page: &mut String, summary: &str, pair: &Pair, sources: &Sources) {
    let [first, second] = &pair.names;
    let (a, b) = (escaped(first), escaped(second));
    let _ = writeln!(page, "<details>\n<summary>{summary}</summary>\n<table class=\"alike\">\n<tr><th>{a}<th>{b}");
    for [left, right] in &pair.places {
        let [left_title, right_title] = [title(left), title(right)];
        let (left, right) = (lines_of(first, left, sources), lines_of(second, right, sources));
        let _ = writeln!(page, "<tr><td>{left_title}<pre>{left}</pre><td>{right_title}<pre>{right}</pre>");
    }
    page.push_str("</table>\n</details>\n");
}

fn title(Place { file, lines }: &Place) -> String {
    escaped(&format!("{}, lines {} to {}", file.display(), lines.start(), lines.end()))
}

/// Returns the lines of a passage.
fn lines_of(name: &str, Place { file, lines }: &Place, sources: &Sources) -> String {
    let text = sources.get(name).and_then(|files| files.get(file)).map_or("", String::as_str);
    let lines: Vec<String> =
        text.lines().skip(lines.start() - 1).take(lines.end() + 1 - lines.start()).map(escaped).collect();
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grade::results::{Item, Target};
    use crate::grade::similarity::PUBLISHED;

    #[test]
    fn grade_writes_a_page_on_a_class() {
        let item = |points| Item {
            package: "utils",
            name: "a_test".to_owned(),
            points,
            maximum: 4.0,
            feedback: String::new(),
        };
        let grade = |points| Grade::new(vec![item(points)], 4.0, Vec::new());
        let mut grades: Vec<_> =
            [4.0, 4.0, 0.0].into_iter().map(|points| ("<student>".to_owned(), grade(points))).collect();
        let place = Place { file: "utils/src/lists.rs".into(), lines: 2..=3 };
        let files = |file: &str| Files::from([(file.into(), "a\nif b < c {\n}\n".to_owned())]);
        let (own, published) = (files("utils/src/lists.rs"), files("solutions/utils/src/lists.rs"));
        let sources = Sources::from([("ann", &own), ("bob", &own), (PUBLISHED, &published)]);
        let in_solution = Place { file: "solutions/utils/src/lists.rs".into(), lines: 2..=3 };
        let pair = |names: [&str; 2], right: &Place| Pair {
            names: names.map(str::to_owned),
            share: 0.75,
            places: vec![[place.clone(), right.clone()]],
        };
        let found = Likeness {
            published: vec![pair(["ann", PUBLISHED], &in_solution)],
            clusters: vec![Cluster {
                names: ["ann", "<bob>"].map(str::to_owned).into(),
                example: "ann".to_owned(),
                places: vec![place.clone()],
                is_published: true,
            }],
            pairs: vec![pair(["ann", "bob"], &place)],
        };
        assert!(!html(&grades, &found, &sources).contains("set by hand"));
        grades[1].1.set(&Target::Total, 99.0, "K: <why>");
        let page = html(&grades, &found, &sources);
        for part in [
            "<h1>3 submissions</h1>",
            "Of 100 points: mean 66.3, median 99.0.",
            "<tr><td>0 to below 10<td class=\"number\">1<td>",
            "<tr><td>100<td class=\"number\">1<td>",
            "<tr><td>utils<td>a_test<td class=\"number\">67 %",
            "<summary>75 %: ann and bob</summary>",
            "<summary>ann: 75 % with the published solution</summary>",
            "solutions/utils/src/lists.rs, lines 2 to 3<pre>if b &lt; c {\n}</pre>",
            "<summary>2 submissions, most of it as in the published solution</summary>\n<p>ann, &lt;bob&gt;</p>",
            "<td>total: 99 points in place of 100, set by K: &lt;why&gt;",
            "lines 2 to 3<pre>if b &lt; c {\n}</pre>",
        ] {
            assert!(page.contains(part), "no {part:?} in\n{page}");
        }
        // The content security policy comes first, and the whole page conforms to it: there is
        // nothing to load or run.
        let policy =
            page.find("<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src").unwrap();
        assert!(policy < page.find("<title>").unwrap());
        let uses = ["<script", "<img", "<link", "<iframe", "<form", " src=", " href=", "url("];
        assert_eq!(uses.map(|used| page.matches(used).count()), [0; 8]);
        assert_eq!(html(&[], &Likeness::default(), &Sources::new()).matches("None.").count(), 3);
    }
}
