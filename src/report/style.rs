//! The one place that knows colours.

use comfy_table::{Attribute, Cell, Color, ColumnConstraint, ContentArrangement, Table, presets};

/// How a text is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    /// As it is.
    Plain,
    /// As it should be.
    Good,
    /// As it should not be.
    Bad,
    /// Worth a look.
    Warn,
    /// Beside the point.
    Dim,
    /// A heading.
    Strong,
}

/// Whether colours are used, and how wide lines may get.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    coloured: bool,
    width: usize,
}

impl Style {
    /// A style for a stream of `width` columns.
    pub fn new(coloured: bool, width: usize) -> Self {
        Self { coloured, width }
    }

    /// Whether colours are used.
    pub fn is_coloured(self) -> bool {
        self.coloured
    }

    /// How wide lines may get, in columns.
    pub fn width(self) -> usize {
        self.width
    }

    /// The text in its tone.
    pub fn paint(self, tone: Tone, text: &str) -> String {
        let code = match tone {
            Tone::Plain => return text.to_owned(),
            Tone::Good => "32",
            Tone::Bad => "31;1",
            Tone::Warn => "33",
            Tone::Dim => "2",
            Tone::Strong => "1",
        };
        if self.coloured { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_owned() }
    }

    /// A cell in its tone.
    pub fn cell(self, tone: Tone, text: impl ToString) -> Cell {
        let cell = Cell::new(text);
        match tone {
            _ if !self.coloured => cell,
            Tone::Plain => cell,
            Tone::Good => cell.fg(Color::Green),
            Tone::Bad => cell.fg(Color::Red).add_attribute(Attribute::Bold),
            Tone::Warn => cell.fg(Color::Yellow),
            Tone::Dim => cell.add_attribute(Attribute::Dim),
            Tone::Strong => cell.add_attribute(Attribute::Bold),
        }
    }

    /// The table as text: no word is broken where there is room for `room` columns.
    pub fn fitted(self, mut table: Table, room: usize) -> String {
        if self.width >= room {
            let columns = table.column_count();
            table.set_constraints(std::iter::repeat_n(ColumnConstraint::ContentWidth, columns));
        }
        table.to_string()
    }

    /// An empty table of this width.
    pub fn table(self, header: &[&str]) -> Table {
        let mut table = Table::new();
        table
            .load_style(presets::UTF8_HORIZONTAL_ONLY.row_separator(comfy_table::LineStyle::none()))
            .set_content_arrangement(ContentArrangement::Dynamic)
            .set_width(u16::try_from(self.width).unwrap_or(u16::MAX))
            .set_header(header.iter().map(|text| self.cell(Tone::Strong, text)).collect::<Vec<_>>());
        if self.coloured {
            table.enforce_styling();
        } else {
            table.force_no_tty();
        }
        table
    }
}

/// The text in lines of at most `width` characters, broken between words.
pub fn wrapped(text: &str, width: usize) -> String {
    let mut out = String::new();
    let mut column = 0;
    for word in text.split_whitespace() {
        let length = word.chars().count();
        if column > 0 && column + 1 + length > width {
            out.push('\n');
            column = 0;
        } else if column > 0 {
            out.push(' ');
            column += 1;
        }
        out.push_str(word);
        column += length;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_break_between_words() {
        assert_eq!(wrapped("one two  three", 7), "one two\nthree");
        assert_eq!(wrapped("incomprehensible no", 5), "incomprehensible\nno");
    }

    #[test]
    fn nothing_is_coloured_unless_asked() {
        let plain = Style::new(false, 80);
        assert_eq!(plain.paint(Tone::Bad, "x"), "x");
        let mut table = plain.table(&["a"]);
        table.add_row(vec![plain.cell(Tone::Bad, "x")]);
        assert!(!plain.fitted(table, 10).contains('\u{1b}'));
        assert!(Style::new(true, 80).paint(Tone::Bad, "x").contains('\u{1b}'));
    }
}
