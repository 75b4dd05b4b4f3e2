//! How deep and how large the tree of a page would be, found out before it is built.
//!
//! Only a browser's parser knows which tag closes what, so it is asked; but instead of a tree it
//! fills a list of parents, and it is fed in pieces and stopped as soon as the limits are passed.
//! The work it may do between two looks is thereby bounded, whatever the page says.

use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::rc::Rc;

use html5ever::interface::{ElementFlags, NodeOrText, QuirksMode, TreeSink};
use html5ever::tendril::{StrTendril, TendrilSink};
use html5ever::{Attribute, ExpandedName, ParseOpts, QualName, local_name, ns, parse_document};

/// Elements within elements; written pages stay below a hundred.
const MAX_DEPTH: usize = 400;
/// Elements and comments, counted with those that the parser opens again.
const MAX_NODES: usize = 500_000;
/// Attributes of one element: each is compared with those before it.
const MAX_ATTRIBUTES: usize = 1000;
/// Open elements that are looked at, at most once for each tag.
const MAX_STEPS: usize = 200_000_000;
/// Angles that may begin a tag; each that does not is a mistake and a text of its own.
const MAX_ANGLES: usize = 4 * MAX_NODES;
/// Bytes between two looks at how far it has come.
const PIECE: usize = 4096;

/// Whether building and walking this page's tree would take more than any written page does.
pub(super) fn is_too_costly(html: &str) -> bool {
    let angles = memchr::memchr_iter(b'<', html.as_bytes()).count();
    if angles > MAX_ANGLES || most_attributes(html) > MAX_ATTRIBUTES {
        return true;
    }
    let mut parser = parse_document(TreeSize::new(), ParseOpts::default());
    let (mut rest, mut steps) = (html, 0);
    while !rest.is_empty() {
        let (piece, after) = rest.split_at(rest.floor_char_boundary(PIECE));
        rest = after;
        let tags = memchr::memchr_iter(b'<', piece.as_bytes()).count();
        parser.process(StrTendril::from_slice(piece));
        let shape = &parser.tokenizer.sink.sink;
        steps += tags * shape.deepest.get();
        if shape.deepest.get() > MAX_DEPTH || shape.len() > MAX_NODES || steps > MAX_STEPS {
            return true;
        }
    }
    let shape = parser.finish();
    shape.len() > MAX_NODES || shape.depth() > MAX_DEPTH
}

/// The most attributes that any tag has. What only looks like a tag counts as one.
fn most_attributes(html: &str) -> usize {
    let bytes = html.as_bytes();
    let (mut at, mut most) = (0, 0);
    while let Some(found) = memchr::memchr(b'<', &bytes[at..]) {
        at += found + 1;
        if !bytes.get(at).is_some_and(u8::is_ascii_alphabetic) {
            continue;
        }
        let (attributes, end) = attributes_of(bytes, at);
        most = most.max(attributes);
        at = end;
    }
    most
}

/// The attributes of the tag whose name begins there, and where the tag ends.
fn attributes_of(bytes: &[u8], name: usize) -> (usize, usize) {
    let (mut count, mut at) = (0, name);
    let (mut apart, mut awaits_value) = (false, false);
    while let Some(&byte) = bytes.get(at) {
        at += 1;
        match byte {
            b'>' => break,
            b'"' | b'\'' if awaits_value => {
                at += memchr::memchr(byte, &bytes[at..]).map_or(bytes.len() - at, |n| n + 1);
                (apart, awaits_value) = (true, false);
            }
            b'=' => awaits_value = true,
            _ if byte.is_ascii_whitespace() || byte == b'/' => apart = true,
            _ => {
                count += usize::from(apart && !awaits_value);
                (apart, awaits_value) = (false, false);
            }
        }
    }
    (count, at)
}

/// What hangs below what.
struct TreeSize {
    document: Node,
    /// By number: what it hangs below, and what was ever put below it.
    parents: RefCell<Vec<Option<usize>>>,
    children: RefCell<Vec<Vec<usize>>>,
    /// As deep as each was when it was put there, which may have become more since.
    depths: RefCell<Vec<usize>>,
    deepest: Cell<usize>,
}

/// What the parser holds of an element, a comment or the document, which comes first.
type Node = Rc<ElementName>;

struct ElementName {
    number: usize,
    name: QualName,
}

const DOCUMENT: usize = 0;

impl TreeSize {
    fn new() -> Self {
        Self {
            document: Rc::new(ElementName {
                number: DOCUMENT,
                name: nameless(),
            }),
            parents: RefCell::new(vec![None]),
            children: RefCell::new(vec![Vec::new()]),
            depths: RefCell::new(vec![0]),
            deepest: Cell::new(0),
        }
    }

    fn len(&self) -> usize {
        self.parents.borrow().len()
    }

    fn add(&self, name: QualName) -> Node {
        let number = self.len();
        self.parents.borrow_mut().push(None);
        self.children.borrow_mut().push(Vec::new());
        self.depths.borrow_mut().push(0);
        Rc::new(ElementName { number, name })
    }

    fn put(&self, parent: usize, child: NodeOrText<Node>) {
        let NodeOrText::AppendNode(child) = child else {
            return;
        };
        self.parents.borrow_mut()[child.number] = Some(parent);
        self.children.borrow_mut()[parent].push(child.number);
        let mut depths = self.depths.borrow_mut();
        depths[child.number] = depths[parent] + 1;
        self.deepest
            .set(self.deepest.get().max(depths[child.number]));
    }

    /// The depth of the deepest element, exactly.
    fn depth(&self) -> usize {
        let (parents, children) = (self.parents.borrow(), self.children.borrow());
        let mut seen = vec![false; parents.len()];
        let (mut deepest, mut open) = (0, vec![(DOCUMENT, 0)]);
        while let Some((node, depth)) = open.pop() {
            deepest = deepest.max(depth);
            for child in &children[node] {
                if parents[*child] == Some(node) && !std::mem::replace(&mut seen[*child], true) {
                    open.push((*child, depth + 1));
                }
            }
        }
        deepest
    }
}

fn nameless() -> QualName {
    QualName::new(None, ns!(), local_name!(""))
}

impl TreeSink for TreeSize {
    type Handle = Node;
    type Output = Self;
    type ElemName<'a> = ExpandedName<'a>;

    fn finish(self) -> Self {
        self
    }

    fn parse_error(&self, _message: Cow<'static, str>) {}

    fn get_document(&self) -> Node {
        Rc::clone(&self.document)
    }

    fn elem_name<'a>(&'a self, target: &'a Node) -> ExpandedName<'a> {
        target.name.expanded()
    }

    fn create_element(&self, name: QualName, _: Vec<Attribute>, _: ElementFlags) -> Node {
        self.add(name)
    }

    fn create_comment(&self, _text: StrTendril) -> Node {
        self.add(nameless())
    }

    fn create_pi(&self, _target: StrTendril, _data: StrTendril) -> Node {
        self.add(nameless())
    }

    fn append(&self, parent: &Node, child: NodeOrText<Node>) {
        self.put(parent.number, child);
    }

    fn append_before_sibling(&self, sibling: &Node, child: NodeOrText<Node>) {
        let parent = self.parents.borrow()[sibling.number];
        self.put(parent.unwrap_or(DOCUMENT), child);
    }

    fn append_based_on_parent_node(&self, element: &Node, before: &Node, child: NodeOrText<Node>) {
        let parent = self.parents.borrow()[element.number];
        self.put(parent.unwrap_or(before.number), child);
    }

    fn append_doctype_to_document(&self, _: StrTendril, _: StrTendril, _: StrTendril) {}

    fn get_template_contents(&self, target: &Node) -> Node {
        Rc::clone(target)
    }

    fn same_node(&self, one: &Node, other: &Node) -> bool {
        one.number == other.number
    }

    fn set_quirks_mode(&self, _mode: QuirksMode) {}

    fn add_attrs_if_missing(&self, _target: &Node, _attributes: Vec<Attribute>) {}

    fn remove_from_parent(&self, target: &Node) {
        self.parents.borrow_mut()[target.number] = None;
    }

    fn reparent_children(&self, node: &Node, new_parent: &Node) {
        let below = std::mem::take(&mut self.children.borrow_mut()[node.number]);
        let mut parents = self.parents.borrow_mut();
        let mut children = self.children.borrow_mut();
        for child in below {
            if parents[child] == Some(node.number) {
                parents[child] = Some(new_parent.number);
                children[new_parent.number].push(child);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn written_pages_are_cheap_however_often_they_say_the_same() {
        let page = "<!DOCTYPE html><title>t</title><body><div class=\"a\" id=b><p>one <b>two</b>\
            <table><tr><td>x<td>y</table><ul><li>a<li>b</ul><img src='x y z'></div>"
            .to_owned();
        assert!(!is_too_costly(&page));
        assert!(!is_too_costly(&page.repeat(200)));
        let long = format!("<p data-x='{}'>text", "a b c ".repeat(100_000));
        assert!(!is_too_costly(&long), "one long value is one attribute");
        assert!(!is_too_costly(&"<li>item <p>text".repeat(20_000)));
    }

    #[test]
    fn nesting_is_seen_whatever_hides_it() {
        let hidden = [
            ("closes nothing", "<div></x>"),
            ("closed across a block", "<span><div></span></div></p>"),
            ("closed in a comment", "<div><!--</div>-->"),
            ("closed in a value", "<div title=\"</div>\">"),
            ("closed in another namespace", "<svg><desc><div></svg2>"),
            ("closed by what is no list", "<section><li></ul>"),
            ("inline", "<b></i>"),
            ("lists in lists", "<ul><li>"),
            ("tables in cells", "<table><tr><td>"),
        ];
        for (how, page) in hidden {
            assert!(is_too_costly(&page.repeat(3000)), "{how}");
        }
        let balanced = "<div></x></div>".repeat(3000);
        assert!(!is_too_costly(&balanced));
    }

    #[test]
    fn formatting_that_is_opened_again_and_again_counts_each_time() {
        let mut unclosed: String = (0..300)
            .map(|n| ["<div><b id=", &n.to_string(), "></div>"].concat())
            .collect();
        unclosed.push_str(&"<p>word".repeat(3000));
        assert!(is_too_costly(&unclosed));
    }

    #[test]
    fn attributes_are_counted_as_the_parser_would() {
        let of = |tag: &str| most_attributes(tag);
        assert_eq!(of("<a href=\"x y = z\" b c=d/><i>"), 3);
        assert_eq!(of("<a b= c d = 'e f' >"), 2);
        assert_eq!(of("a < b and c > d"), 0);
        let many: Vec<String> = (0..5000).map(|n| n.to_string()).collect();
        assert!(is_too_costly(&format!("<p a{}>text", many.join(" a"))));
        assert!(is_too_costly(&"<".repeat(MAX_ANGLES + 1)));
    }
}
