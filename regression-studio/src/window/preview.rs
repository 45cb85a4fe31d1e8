//! Preview of the table. Only visible rows are drawn.

use std::borrow::Cow;
use std::cell::OnceCell;

use eframe::egui::{self, Align2, Color32, FontId, Rect, RichText, Sense, TextStyle, Ui, pos2, vec2};

use super::form::{describe, kind};
use super::{number, theme};
use crate::table::statistics::{BARS, rank_correlation};
use crate::table::{Column, Kind, Statistics};
use crate::{Settings, Table};

const ROW_HEIGHT: f32 = 24.0;
const HEADER_HEIGHT: f32 = 70.0;
/// Height of the histograms in the header.
const BARS_HEIGHT: f32 = 20.0;
const NUMBER_WIDTH: f32 = 76.0;
const PADDING: f32 = 10.0;
/// Width of the color legend.
const LEGEND_WIDTH: f32 = 90.0;
/// Number of notes shown above the rows.
const NOTES: usize = 4;
/// Number of rows used to choose a column's width, and number of their longest texts that are
/// measured. Laying out one text takes a fraction of a millisecond.
const MEASURED_ROWS: usize = 200;
const MEASURED_TEXTS: usize = 6;
/// Number of decimal digits that a 64-bit number keeps.
const MAX_DIGITS: usize = 15;

/// The preview's cached layout.
#[derive(Default)]
pub(crate) struct Preview {
    /// Column widths, measured when a table is first shown.
    widths: Vec<f32>,
    statistics: Vec<Statistics>,
    /// The target, and the columns' rank correlations with it, computed when a column is first visible.
    correlations: (String, Vec<OnceCell<Option<f64>>>),
}

impl Preview {
    /// The preview of a table with these column summaries.
    pub(crate) fn of(statistics: Vec<Statistics>) -> Self {
        Self { statistics, ..Self::default() }
    }

    /// Shows the table, with features and target colored. Returns the name of the column if the
    /// user clicked its header.
    pub(crate) fn show(&mut self, ui: &mut Ui, table: Option<&Table>, settings: &Settings) -> Option<String> {
        theme::card(ui, |ui| {
            ui.set_min_size(ui.available_size());
            let Some(table) = table else {
                ui.centered_and_justified(|ui| ui.label("Loading data…"));
                return None;
            };
            summary(ui, table, settings);
            if self.widths.len() != table.columns().len() {
                self.widths = table.columns().iter().map(|column| width(ui, column, table.rows())).collect();
            }
            if self.correlations.0 != settings.data.target || self.correlations.1.len() != table.columns().len() {
                let unknown = vec![OnceCell::new(); table.columns().len()];
                self.correlations = (settings.data.target.clone(), unknown);
            }
            self.rows(ui, table, settings)
        })
    }

    fn rows(&self, ui: &mut Ui, table: &Table, settings: &Settings) -> Option<String> {
        let size =
            vec2(NUMBER_WIDTH + self.widths.iter().sum::<f32>(), HEADER_HEIGHT + ROW_HEIGHT * table.rows() as f32);
        let scroll = egui::ScrollArea::both().id_salt("preview").auto_shrink(false);
        let scrolled = scroll.show_viewport(ui, |ui, viewport| {
            ui.set_min_size(size);
            let palette = theme::palette(ui);
            let clip = ui.clip_rect();
            let origin = clip.min - viewport.min.to_vec2();
            // Coordinates are relative to the visible part, not to the first row: large f32
            // coordinates lose pixels.
            let first = (viewport.min.y / ROW_HEIGHT).floor().max(0.0) as usize;
            let shift = viewport.min.y - first as f32 * ROW_HEIGHT;
            let in_view = (clip.height() / ROW_HEIGHT).ceil() as usize + 1;
            let top = |index: usize| clip.top() + HEADER_HEIGHT + index as f32 * ROW_HEIGHT - shift;
            let font = TextStyle::Body.resolve(ui.style());
            for (index, row) in (first..table.rows().min(first + in_view)).enumerate() {
                let area = Rect::from_min_size(pos2(clip.left(), top(index)), vec2(clip.width(), ROW_HEIGHT));
                if row % 2 == 1 {
                    ui.painter().rect_filled(area, 0.0, palette.stripe);
                }
                let text = number::count(row + 1);
                let place = pos2(origin.x + NUMBER_WIDTH - PADDING, area.center().y);
                ui.painter().text(place, Align2::RIGHT_CENTER, text, font.clone(), palette.grey);
                self.row(ui, table, row, origin.x, area, &font);
            }
            self.header(ui, table, settings, origin.x, clip)
        });
        scrolled.inner
    }

    fn row(&self, ui: &Ui, table: &Table, row: usize, left: f32, area: Rect, font: &FontId) {
        let palette = theme::palette(ui);
        let mut left = left + NUMBER_WIDTH;
        let mut spoken = format!("Row {}", row + 1);
        for (column, &width) in table.columns().iter().zip(&self.widths) {
            let cell = Rect::from_min_size(pos2(left, area.top()), vec2(width, ROW_HEIGHT));
            left += width;
            if !cell.intersects(area) {
                continue;
            }
            let text = shown(column, row);
            spoken.extend([", ", column.name(), " ", &text]);
            let is_missing = column.kind() == Kind::Number && column.number(row).is_none();
            let (text, color) = match text.is_empty() {
                true => ("missing", palette.orange),
                false if is_missing => (&*text, palette.orange),
                false => (&*text, ui.visuals().text_color()),
            };
            let (place, align) = match column.kind() {
                Kind::Number => (cell.right_center() - vec2(PADDING, 0.0), Align2::RIGHT_CENTER),
                Kind::Text => (cell.left_center() + vec2(PADDING, 0.0), Align2::LEFT_CENTER),
            };
            ui.painter().with_clip_rect(cell.intersect(area)).text(place, align, text, font.clone(), color);
        }
        let response = ui.interact(area.intersect(ui.clip_rect()), ui.scope_id().with(row), Sense::hover());
        response.widget_info(|| egui::WidgetInfo::labeled(egui::accesskit::Role::Row, true, &spoken));
    }

    /// Names, kinds and missing values; always visible. Returns the name of the clicked column.
    fn header(&self, ui: &Ui, table: &Table, settings: &Settings, left: f32, clip: Rect) -> Option<String> {
        let mut clicked = None;
        let palette = theme::palette(ui);
        let area = Rect::from_min_size(clip.min, vec2(clip.width(), HEADER_HEIGHT));
        ui.painter().rect_filled(area, 0.0, palette.card);
        ui.painter().hline(area.x_range(), area.bottom(), egui::Stroke::new(1.0, palette.line));
        let (body, small) = (TextStyle::Body.resolve(ui.style()), TextStyle::Small.resolve(ui.style()));
        let place = pos2(left + NUMBER_WIDTH - PADDING, area.top() + 12.0);
        ui.painter().text(place, Align2::RIGHT_CENTER, "row", small.clone(), palette.grey);
        let mut left = left + NUMBER_WIDTH;
        for (index, (column, &width)) in table.columns().iter().zip(&self.widths).enumerate() {
            let cell = Rect::from_min_size(pos2(left, area.top()), vec2(width, HEADER_HEIGHT));
            left += width;
            if !cell.intersects(area) {
                continue;
            }
            let role = role(column, settings);
            let correlation = if role == "target" { None } else { self.correlation(table, index) };
            let color = match role {
                "target" => palette.orange,
                "feature" => palette.blue,
                _ => ui.visuals().text_color(),
            };
            let painter = ui.painter().with_clip_rect(cell.intersect(area));
            let (x, align) = match column.kind() {
                Kind::Number => (cell.right() - PADDING, Align2::RIGHT_CENTER),
                Kind::Text => (cell.left() + PADDING, Align2::LEFT_CENTER),
            };
            painter.text(pos2(x, area.top() + 12.0), align, column.name(), body.clone(), color);
            painter.text(
                pos2(x, area.top() + 31.0),
                align,
                note(column, role) + &correlation.map(|of| format!(", ρ {}", two_digits(of))).unwrap_or_default(),
                small.clone(),
                note_color(column, palette),
            );
            let statistics = self.statistics.get(index);
            if let Some(statistics) = statistics {
                bars(&painter, cell, statistics.bars(), color.gamma_multiply(0.6));
            }
            let response = ui.interact(cell.intersect(area), ui.scope_id().with(column.name()), Sense::click());
            let spoken = format!("{}: {}", column.name(), describe(column));
            response.widget_info(|| egui::WidgetInfo::labeled(egui::accesskit::Role::ColumnHeader, true, &spoken));
            let role = if role.is_empty() { String::new() } else { format!(" ({role})") };
            let mut text = format!("{spoken}{role}{}", statistics.map(in_words).unwrap_or_default());
            if let Some(correlation) = correlation {
                text += &format!("\nrank correlation with {}: {}", settings.data.target, two_digits(correlation));
            }
            if settings.data.target != column.name() {
                text += "\nClick to use it as a feature, or not.";
            }
            if response.on_hover_text(text).clicked() {
                clicked = Some(column.name().to_owned());
            }
        }
        clicked
    }

    /// The rank correlation of a column with the target.
    fn correlation(&self, table: &Table, index: usize) -> Option<f64> {
        let (target, known) = &self.correlations;
        *known[index].get_or_init(|| {
            let (target, column) = (table.column(target)?.numbers()?, table.columns()[index].numbers()?);
            rank_correlation(column, target)
        })
    }
}

/// A histogram at the bottom of a header cell.
fn bars(painter: &egui::Painter, cell: Rect, shares: &[f32], color: Color32) {
    let largest = shares.iter().copied().fold(f32::MIN_POSITIVE, f32::max);
    let width = (cell.width() - 2.0 * PADDING) / BARS as f32;
    for (index, share) in shares.iter().enumerate() {
        let left = cell.left() + PADDING + index as f32 * width;
        let bottom = cell.bottom() - 3.0;
        let bar = Rect::from_min_max(
            pos2(left, bottom - BARS_HEIGHT * share / largest),
            pos2(left + (width - 1.0).max(1.0), bottom),
        );
        painter.rect_filled(bar, 0.0, color);
    }
}

/// A summary for the tooltip. It begins with a line break.
fn in_words(statistics: &Statistics) -> String {
    match statistics {
        Statistics::Numbers { min, median, mean, max, .. } => {
            let [min, median, mean, max] = [min, median, mean, max].map(|value| number::short(*value));
            format!("\nsmallest {min}, median {median}, mean {mean}, largest {max}")
        }
        Statistics::Texts { usual, shares } => {
            format!("\nmost frequent: {usual}, {:.1} %", 100.0 * shares.first().copied().unwrap_or_default())
        }
        Statistics::Empty => "\nevery cell is missing".to_owned(),
    }
}

/// A correlation with two decimals.
fn two_digits(correlation: f64) -> String {
    // Adding 0 turns −0 into 0.
    format!("{:.2}", (100.0 * correlation).round() / 100.0 + 0.0).replace('-', "−")
}

fn summary(ui: &mut Ui, table: &Table, settings: &Settings) {
    let palette = theme::palette(ui);
    ui.horizontal(|ui| {
        ui.heading(settings.data.source.name());
        let sum = |count: fn(&Column) -> usize| table.columns().iter().map(count).sum::<usize>();
        let (missing, unreadable) = (sum(Column::missing), sum(Column::not_numeric));
        let size = format!("{} rows, {} columns", number::count(table.rows()), table.columns().len());
        ui.label(RichText::new(size).weak());
        if missing > 0 {
            ui.label(RichText::new(format!("{} missing values", number::count(missing))).color(palette.orange));
        }
        if unreadable > 0 {
            ui.label(RichText::new(format!("{} unreadable", number::count(unreadable))).color(palette.orange));
        }
        if ui.available_width() >= LEGEND_WIDTH {
            ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| {
                ui.label(RichText::new("target").color(palette.orange).small());
                ui.label(RichText::new("feature").color(palette.blue).small());
            });
        }
    });
    notes(ui, table);
    ui.add_space(2.0);
}

/// How the file was read, if that is not obvious.
fn notes(ui: &mut Ui, table: &Table) {
    let palette = theme::palette(ui);
    let line = |ui: &mut Ui, text: &str| {
        ui.add(egui::Label::new(RichText::new(format!("⚠ {text}")).small().color(palette.orange)).wrap());
    };
    table.notes().iter().take(NOTES).for_each(|note| line(ui, &note.text));
    let more = table.notes().len().saturating_sub(NOTES);
    if more > 0 {
        let all: Vec<&str> = table.notes().iter().map(|note| &*note.text).collect();
        ui.label(RichText::new(format!("and {more} more notes")).small().weak()).on_hover_text(all.join("\n"));
    }
}

/// A cell's text, with fewer digits if it has more than a 64-bit number can represent.
fn shown(column: &Column, row: usize) -> Cow<'_, str> {
    let text = column.text(row);
    match column.number(row) {
        Some(value) if !column.is_date() && text.contains('.') && text.len() > MAX_DIGITS + 2 => {
            number::with_digits(value, MAX_DIGITS - 3).into()
        }
        _ => text,
    }
}

fn role(column: &Column, settings: &Settings) -> &'static str {
    match column.name() {
        name if settings.data.target == name => "target",
        name if settings.data.features.iter().any(|feature| feature == name) => "feature",
        _ => "",
    }
}

/// Kind and missing values, short enough for a column header.
fn note(column: &Column, role: &str) -> String {
    let (missing, unreadable) = (column.missing(), column.not_numeric());
    let kind = if role == "target" { role } else { kind(column) };
    let gap = |count: usize, what: &str| {
        if count == 0 { String::new() } else { format!(", {} {what}", number::count(count)) }
    };
    format!("{kind}{}{}", gap(missing, "missing"), gap(unreadable, "unreadable"))
}

fn note_color(column: &Column, palette: theme::Palette) -> Color32 {
    if column.missing() + column.not_numeric() == 0 { palette.grey } else { palette.orange }
}

/// A column width that fits the name, the note and the first rows, within limits.
fn width(ui: &Ui, column: &Column, rows: usize) -> f32 {
    let (body, small) = (TextStyle::Body.resolve(ui.style()), TextStyle::Small.resolve(ui.style()));
    let wide =
        |text: String, font: &FontId| ui.painter().layout_no_wrap(text, font.clone(), Color32::PLACEHOLDER).size().x;
    let mut texts: Vec<Cow<str>> = (0..rows.min(MEASURED_ROWS)).map(|row| shown(column, row)).collect();
    texts.sort_by_cached_key(|text| std::cmp::Reverse(text.chars().count()));
    let cells = texts.into_iter().take(MEASURED_TEXTS).map(|text| wide(text.into_owned(), &body));
    let widest =
        cells.fold(wide(column.name().to_owned(), &body), f32::max).max(wide(note(column, "") + ", ρ −0.00", &small));
    (widest + 2.0 * PADDING).clamp(60.0, 260.0)
}
