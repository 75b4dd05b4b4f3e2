//! Tables on standard output: as wide as the terminal, and as long as it gets elsewhere.

use std::io::{IsTerminal, stdout};

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Between two columns.
const GAP: &str = "  ";
/// The least that a text column is worth its place with, in cells.
const LEAST_TEXT: usize = 16;

/// A column of a table.
#[derive(Debug, Clone, Copy)]
pub(super) struct Column {
    /// What stands above it.
    pub(super) title: &'static str,
    /// Which side its cells stand on.
    pub(super) side: Side,
    /// Columns with more than 0 are left out where there is no room, the largest first.
    pub(super) spare: u8,
}

/// Which side the cells of a column stand on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Left,
    Right,
}

/// A column of that title.
pub(super) const fn column(title: &'static str, side: Side, spare: u8) -> Column {
    Column { title, side, spare }
}

/// The cells of the terminal's width; `None` where the output is no terminal.
pub(super) fn terminal_width() -> Option<usize> {
    if !stdout().is_terminal() {
        return None;
    }
    let (columns, _) = crossterm::terminal::size().ok()?;
    (columns > 0).then_some(usize::from(columns))
}

/// The table as text. Its cells are clean and on one line; the last column is cut to what the
/// others leave of `width`.
pub(super) fn table(columns: &[Column], rows: &[Vec<String>], width: Option<usize>) -> String {
    let wide: Vec<usize> = (0..columns.len())
        .map(|at| {
            let cells = rows.iter().map(|row| row[at].width());
            cells.chain([columns[at].title.width()]).max().unwrap_or(0)
        })
        .collect();
    let mut shown: Vec<usize> = (0..columns.len()).collect();
    while let Some(width) = width
        && least(&shown, &wide) > width
        && let Some(spare) = (shown.iter().copied())
            .filter(|at| columns[*at].spare > 0)
            .max_by_key(|at| columns[*at].spare)
    {
        shown.retain(|at| *at != spare);
    }
    let titles: Vec<String> = columns.iter().map(|one| one.title.to_owned()).collect();
    let mut text = String::new();
    for row in [&titles].into_iter().chain(rows) {
        let mut line = String::new();
        for at in &shown {
            if !line.is_empty() {
                line.push_str(GAP);
            }
            let room = wide[*at].saturating_sub(row[*at].width());
            let space = " ".repeat(room);
            match columns[*at].side {
                Side::Left => line.extend([row[*at].as_str(), &space]),
                Side::Right => line.extend([space.as_str(), &row[*at]]),
            }
        }
        let line = line.trim_end();
        text.push_str(&width.map_or_else(|| line.to_owned(), |width| cut(line, width)));
        text.push('\n');
    }
    text
}

/// The cells of a line whose last column is cut as short as it may be.
fn least(shown: &[usize], wide: &[usize]) -> usize {
    let Some((last, others)) = shown.split_last() else {
        return 0;
    };
    let others = others.iter().map(|at| wide[*at] + GAP.len());
    others.sum::<usize>() + wide[*last].min(LEAST_TEXT)
}

/// The text, with `…` at its end where it takes more than `width` cells.
fn cut(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let mut taken = 0;
    let kept = text.chars().take_while(|c| {
        taken += c.width().unwrap_or(0);
        taken < width
    });
    kept.chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const COLUMNS: [Column; 4] = [
        column("id", Side::Left, 0),
        column("time", Side::Left, 1),
        column("calls", Side::Right, 2),
        column("question", Side::Left, 0),
    ];

    fn rows() -> Vec<Vec<String>> {
        [
            [
                "a1",
                "12:00",
                "4",
                "how many rules are there, and which is tried first?",
            ],
            [
                "b22",
                "12:01",
                "12",
                "索引是怎么建立的,多长时间更新一次,存在哪里?",
            ],
        ]
        .map(|row| row.map(str::to_owned).to_vec())
        .to_vec()
    }

    #[test]
    fn a_table_takes_the_width_of_the_terminal_and_no_more() {
        for width in [10, 24, 30, 36, 48, 80] {
            let drawn = table(&COLUMNS, &rows(), Some(width));
            assert!(drawn.lines().all(|line| line.width() <= width), "{drawn}");
            assert_eq!(drawn.lines().count(), 3);
        }
        let narrow = table(&COLUMNS, &rows(), Some(30));
        assert!(narrow.starts_with("id   time   question\n"), "{narrow}");
        assert!(table(&COLUMNS, &rows(), Some(24)).starts_with("id   question\n"));
    }

    #[test]
    fn a_table_in_a_pipe_is_cut_nowhere() {
        let drawn = table(&COLUMNS, &rows(), None);
        let lines: Vec<&str> = drawn.lines().collect();
        assert_eq!(lines[0], "id   time   calls  question");
        assert!(lines[1].starts_with("a1   12:00      4  how many"));
        assert!(lines[1].ends_with("tried first?") && lines[2].ends_with("存在哪里?"));
    }
}
