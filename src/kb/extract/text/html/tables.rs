//! Tables of web pages: every cell of every row, whatever covers rows and columns.

use std::rc::Rc;

use htmd::Node;
use htmd::element_handler::{HandlerResult, Handlers};
use markup5ever_rcdom::NodeData;

use crate::kb::extract::tables::table;

/// A cell that claims to cover more rows or columns was made to fill the memory.
const MAX_SPAN: usize = 100;

/// The table as Markdown. A cell that covers rows belongs to each of them; one that covers columns
/// is said once.
pub(super) fn as_markdown(handlers: &dyn Handlers, node: &Rc<Node>) -> HandlerResult {
    let mut caption = String::new();
    let mut rows: Vec<Rc<Node>> = Vec::new();
    collect(handlers, node, &mut rows, &mut caption);
    let mut grid: Vec<Vec<String>> = Vec::new();
    // What still covers a column: for how many rows, and what it says.
    let mut covered: Vec<(usize, String)> = Vec::new();
    for row in rows {
        let mut cells: Vec<String> = Vec::new();
        let children = row.children.borrow();
        for cell in children.iter().filter(|child| is(child, &["td", "th"])) {
            take_covered(&mut covered, &mut cells);
            let said = handlers.handle(cell).map(|result| result.content);
            let said = said.unwrap_or_default().trim().to_owned();
            let (down, right) = (span(cell, "rowspan"), span(cell, "colspan"));
            covered.resize(covered.len().max(cells.len() + right), (0, String::new()));
            for column in 0..right {
                let said = if column == 0 {
                    said.clone()
                } else {
                    String::new()
                };
                covered[cells.len()] = (down - 1, said.clone());
                cells.push(said);
            }
        }
        take_covered(&mut covered, &mut cells);
        if cells.iter().any(|cell| !cell.is_empty()) {
            grid.push(cells);
        }
    }
    if grid.is_empty() {
        return handlers.walk_children(node);
    }
    if is_within_cell(node) {
        let said = grid.concat().join(" ");
        return HandlerResult::from(format!("{caption} {said}"));
    }
    HandlerResult::from(format!("\n\n{caption}\n\n{}\n\n", table(&grid)))
}

/// Whether the table stands in a cell of another one.
fn is_within_cell(node: &Node) -> bool {
    let parent = node.parent.take();
    node.parent.set(parent.clone());
    let parent = parent.and_then(|parent| parent.upgrade());
    parent.is_some_and(|parent| is(&parent, &["td", "th"]) || is_within_cell(&parent))
}

/// Adds what covers the next columns from above.
fn take_covered(covered: &mut [(usize, String)], cells: &mut Vec<String>) {
    while let Some((rows, said)) = covered.get_mut(cells.len()).filter(|(rows, _)| *rows > 0) {
        *rows -= 1;
        cells.push(said.clone());
    }
}

/// The rows of this table, not those of tables within it, and what its caption says.
fn collect(handlers: &dyn Handlers, node: &Node, rows: &mut Vec<Rc<Node>>, caption: &mut String) {
    for child in node.children.borrow().iter() {
        if is(child, &["tr"]) {
            rows.push(Rc::clone(child));
        } else if is(child, &["thead", "tbody", "tfoot"]) {
            collect(handlers, child, rows, caption);
        } else if is(child, &["caption"])
            && let Some(said) = handlers.handle(child)
        {
            caption.push_str(said.content.trim());
        }
    }
}

fn is(node: &Node, names: &[&str]) -> bool {
    matches!(&node.data, NodeData::Element { name, .. } if names.contains(&&*name.local))
}

fn span(node: &Node, attribute: &str) -> usize {
    let NodeData::Element { attrs, .. } = &node.data else {
        return 1;
    };
    let attrs = attrs.borrow();
    let value = attrs.iter().find(|own| &*own.name.local == attribute);
    value
        .and_then(|own| own.value.trim().parse().ok())
        .unwrap_or(1)
        .clamp(1, MAX_SPAN)
}
