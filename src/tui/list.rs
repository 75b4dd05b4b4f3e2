//! A selection in a list, and the part of the list that is seen.

use super::keymap::Action;

/// Which row is selected and which is the first one seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct List {
    /// The selected row.
    pub selected: usize,
    /// The first row seen.
    pub top: usize,
    /// Rows seen, as last settled.
    height: usize,
}

impl List {
    /// What the keys that move do in every list; `false` for another action.
    pub fn act(&mut self, action: Action) -> bool {
        match action {
            Action::Up => self.step(-1),
            Action::Down => self.step(1),
            Action::PageUp => self.page(-1),
            Action::PageDown => self.page(1),
            Action::First => self.first(),
            Action::Last => self.last(usize::MAX),
            _ => return false,
        }
        true
    }

    /// Moves the selection.
    pub fn step(&mut self, by: isize) {
        self.selected = self.selected.saturating_add_signed(by);
    }

    /// Moves the selection by pages.
    pub fn page(&mut self, pages: isize) {
        let rows = self.height.saturating_sub(1).max(1).cast_signed();
        self.step(pages * rows);
    }

    /// Selects the first row.
    pub fn first(&mut self) {
        self.selected = 0;
    }

    /// Selects the last of `count` rows.
    pub fn last(&mut self, count: usize) {
        self.selected = count.saturating_sub(1);
    }

    /// Keeps the selection within the list and in sight.
    pub fn settle(&mut self, count: usize, height: usize) {
        self.height = height;
        self.selected = self.selected.min(count.saturating_sub(1));
        self.top = self
            .top
            .min(self.selected)
            .max((self.selected + 1).saturating_sub(height))
            .min(count.saturating_sub(height));
    }

    /// For text without a selected row: the selection is the first row seen.
    pub fn settle_view(&mut self, count: usize, height: usize) {
        self.height = height;
        self.selected = self.selected.min(count.saturating_sub(height));
        self.top = self.selected;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_selection_stays_in_sight() {
        let mut list = List::default();
        list.settle(100, 10);
        list.step(15);
        list.settle(100, 10);
        assert_eq!((list.selected, list.top), (15, 6));
        list.last(100);
        list.settle(100, 10);
        assert_eq!((list.selected, list.top), (99, 90));
        list.settle(3, 10);
        assert_eq!((list.selected, list.top), (2, 0));
        list.settle(0, 0);
        assert_eq!((list.selected, list.top), (0, 0));
    }
}
