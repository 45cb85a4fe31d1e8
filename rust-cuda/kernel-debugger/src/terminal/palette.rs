//! Styles. Where the text alone does not distinguish them, a modifier does so without color.

use ratatui::style::{Color, Modifier, Style};

/// Number of banks of shared memory.
const BANKS: u32 = 32;

/// The styles, with or without colors.
#[derive(Clone, Copy, Debug)]
pub(super) struct Palette {
    pub(super) is_coloured: bool,
}

impl Palette {
    fn coloured(self, colour: Color) -> Style {
        if self.is_coloured { Style::new().fg(colour) } else { Style::new() }
    }

    /// Frames, line numbers and other less important text.
    pub(super) fn faint(self) -> Style {
        self.coloured(Color::DarkGray)
    }

    pub(super) fn title(self) -> Style {
        self.coloured(Color::Reset).add_modifier(Modifier::BOLD)
    }

    /// The line that the selected warp executes next, and the selected warp.
    pub(super) fn current(self) -> Style {
        self.coloured(Color::Yellow).add_modifier(Modifier::REVERSED)
    }

    /// A cell that the selected lane has touched.
    pub(super) fn lane(self) -> Style {
        Style::new().add_modifier(Modifier::UNDERLINED | Modifier::BOLD)
    }

    pub(super) fn good(self) -> Style {
        self.coloured(Color::Green)
    }

    pub(super) fn waiting(self) -> Style {
        self.coloured(Color::Cyan)
    }

    pub(super) fn diverged(self) -> Style {
        self.coloured(Color::Yellow)
    }

    /// Faults, errors and breakpoints.
    pub(super) fn bad(self) -> Style {
        self.coloured(Color::Red).add_modifier(Modifier::BOLD)
    }

    /// A changed cell, beside its mark.
    pub(super) fn changed(self) -> Style {
        Style::new().add_modifier(Modifier::BOLD)
    }

    /// A cell that the last access touched, and the selected lane.
    pub(super) fn accessed(self) -> Style {
        Style::new().add_modifier(Modifier::REVERSED)
    }

    /// The color of a bank of shared memory: 16 hues, saturated for even banks and pale for odd
    /// ones.
    pub(super) fn bank(self, bank: u32) -> Style {
        let darkest = if bank.is_multiple_of(2) { 1 } else { 2 };
        self.coloured(hue(bank / 2, BANKS / 2, darkest))
    }
}

/// Hue number `index` of `hues` in the color cube of 256-color terminals, with components from
/// `darkest` to 5.
fn hue(index: u32, hues: u32, darkest: u32) -> Color {
    let edge = 5 - darkest;
    let position = index * 6 * edge / hues;
    let (sextant, step) = (position / edge, position % edge);
    let (rising, falling) = (darkest + step, 5 - step);
    let (red, green, blue) = match sextant {
        0 => (5, rising, darkest),
        1 => (falling, 5, darkest),
        2 => (darkest, 5, rising),
        3 => (darkest, falling, 5),
        4 => (rising, darkest, 5),
        _ => (5, darkest, falling),
    };
    Color::Indexed((16 + 36 * red + 6 * green + blue) as u8)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn banks_have_different_colours() {
        let palette = Palette { is_coloured: true };
        let colours: HashSet<_> = (0..BANKS).map(|bank| palette.bank(bank).fg).collect();
        assert_eq!(colours.len(), BANKS as usize);
    }

    #[test]
    fn without_colours_no_style_has_one() {
        let palette = Palette { is_coloured: false };
        let styles = [palette.faint(), palette.current(), palette.bad(), palette.bank(7), palette.waiting()];
        assert!(styles.iter().all(|style| style.fg.is_none() && style.bg.is_none()));
    }
}
