//! Text in a part of the screen, clipped at its edges.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::Span;

use super::palette::Palette;

/// A part of the screen.
pub(super) struct Canvas<'b> {
    buffer: &'b mut Buffer,
    area: Rect,
}

impl<'b> Canvas<'b> {
    /// The part `area` of a buffer, clipped to the buffer.
    pub(super) fn new(buffer: &'b mut Buffer, area: Rect) -> Self {
        let area = area.intersection(buffer.area);
        Self { buffer, area }
    }

    /// A part with a heading in its first row. The canvas is the rest.
    pub(super) fn titled(buffer: &'b mut Buffer, area: Rect, title: &str, palette: Palette) -> Self {
        let mut whole = Self::new(buffer, area);
        let width = whole.width();
        whole.put(0, 0, &"─".repeat(width), palette.faint());
        whole.put(0, 1, &format!(" {} ", clip(title, width.saturating_sub(4))), palette.title());
        let rest = Rect { y: area.y + 1, height: area.height.saturating_sub(1), ..area };
        Self::new(whole.buffer, rest)
    }

    pub(super) fn width(&self) -> usize {
        self.area.width.into()
    }

    pub(super) fn height(&self) -> usize {
        self.area.height.into()
    }

    /// Writes text at a row and a column. Returns the column after it.
    pub(super) fn put(&mut self, row: usize, column: usize, text: &str, style: Style) -> usize {
        if row >= self.height() || column >= self.width() {
            return column;
        }
        let (x, y) = (self.area.x + column as u16, self.area.y + row as u16);
        let (end, _) = self.buffer.set_stringn(x, y, text, self.width() - column, style);
        (end - self.area.x).into()
    }
}

/// Text of at most `width` columns, with `…` in place of the rest.
pub(super) fn clip(text: &str, width: usize) -> String {
    if columns(text) <= width {
        return text.to_owned();
    }
    let mut clipped = String::new();
    for character in text.chars() {
        if columns(&clipped) + columns(character.encode_utf8(&mut [0; 4])) + 1 > width {
            break;
        }
        clipped.push(character);
    }
    if width > 0 {
        clipped.push('…');
    }
    clipped
}

/// Text in rows of at most `width` columns, broken at spaces where possible.
pub(super) fn wrap(text: &str, width: usize) -> Vec<String> {
    let width = width.max(1);
    let mut rows = vec![String::new()];
    for word in text.split_whitespace() {
        let row = rows.last_mut().expect("there is always a row");
        if row.is_empty() {
            row.push_str(word);
        } else if columns(row) + 1 + columns(word) <= width {
            row.push(' ');
            row.push_str(word);
        } else {
            rows.push(word.to_owned());
        }
        while let Some(rest) = rows.last_mut().and_then(|row| split_off(row, width)) {
            rows.push(rest);
        }
    }
    rows
}

/// Cuts a row to at most `width` columns, but at least one character. Returns the rest, if any.
fn split_off(row: &mut String, width: usize) -> Option<String> {
    let mut used = 0;
    for (index, character) in row.char_indices() {
        used += columns(character.encode_utf8(&mut [0; 4]));
        if used > width && index > 0 {
            return Some(row.split_off(index));
        }
    }
    None
}

/// Number of columns of a text.
pub(super) fn columns(text: &str) -> usize {
    Span::raw(text).width()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_wrapped_at_spaces_and_long_words_are_broken() {
        assert_eq!(wrap("a race of two threads", 8), ["a race", "of two", "threads"]);
        assert_eq!(wrap("__shared_array here", 6), ["__shar", "ed_arr", "ay", "here"]);
        assert_eq!(wrap("日本", 1), ["日", "本"]);
        assert_eq!(wrap("", 5), [""]);
    }

    #[test]
    fn text_is_clipped_with_an_ellipsis() {
        assert_eq!(clip("warps", 5), "warps");
        assert_eq!(clip("registers", 5), "regi…");
        assert_eq!(clip("日本", 3), "日…");
        assert_eq!((clip("x", 0), clip("xy", 1)), (String::new(), "…".to_owned()));
    }
}
