//! One page that needs nothing else: no script, nothing loaded, everything that was recorded escaped.

use pulldown_cmark::html::push_html;
use pulldown_cmark::{Event, Parser, Tag, TagEnd};
use quick_xml::escape::escape;

use super::wording;
use crate::protocol::{Branches, RunRecord, RunSummary};
use crate::text::{markup, sanitize};

const HEAD: &str = "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n";
const STYLE: &str = "<style>\n\
:root { color-scheme: light dark; }\n\
body { font: 16px/1.5 system-ui, sans-serif; max-width: 52rem; margin: 2rem auto; padding: 0 1rem; }\n\
article + article { border-top: 1px solid; margin-top: 3rem; }\n\
.about { opacity: .75; font-size: .9rem; overflow-wrap: anywhere; }\n\
.answer { border-left: 3px solid; padding-left: 1rem; overflow-wrap: anywhere; }\n\
.answer pre { overflow-x: auto; }\n\
.answer td, .answer th { border: 1px solid; padding: .1rem .5rem; text-align: left; }\n\
.answer table { border-collapse: collapse; }\n\
blockquote { margin: .25rem 0 1rem; padding-left: 1rem; border-left: 1px solid; }\n\
li { overflow-wrap: anywhere; }\n\
</style>\n";

/// The runs, one after the other, as a whole page.
pub(super) fn document(runs: &[RunRecord]) -> String {
    let title = runs.first().map(|run| wording::question(&run.summary));
    let title = escape(title.unwrap_or_default());
    let branches = RunSummary::branches(runs.iter().map(|run| &run.summary));
    let sections = runs.iter().map(|run| section(run, &branches));
    let sections: String = sections.collect();
    format!("{HEAD}<title>{title}</title>\n{STYLE}</head>\n<body>\n{sections}</body>\n</html>\n")
}

/// The answer in its form. Its tags are shown as text, and its links and images as their words.
fn rendered(answer: &str) -> String {
    let answer = sanitize(answer);
    let parts = Parser::new_ext(&answer, markup());
    let shown = parts.filter_map(|part| match part {
        Event::Html(tag) | Event::InlineHtml(tag) => Some(Event::Text(tag)),
        Event::Start(Tag::Link { .. } | Tag::Image { .. } | Tag::HtmlBlock)
        | Event::End(TagEnd::Link | TagEnd::Image | TagEnd::HtmlBlock) => None,
        part => Some(part),
    });
    let mut text = String::new();
    push_html(&mut text, shown);
    text
}

fn section(run: &RunRecord, branches: &Branches) -> String {
    let summary = &run.summary;
    let mut text = format!(
        "<article>\n<h1>{}</h1>\n",
        escape(wording::question(summary))
    );
    let about = [wording::course(summary), wording::names(summary, branches)];
    for line in about.into_iter().chain(wording::labels(run)) {
        text.push_str(&format!("<p class=\"about\">{}</p>\n", escape(&line)));
    }
    if let Some(limits) = wording::limits(run) {
        text.push_str(&format!("<p class=\"about\">{}</p>\n", escape(&limits)));
    }
    text.push_str("<h2>Answer</h2>\n");
    text.push_str(&match &run.answer {
        Some(answer) => format!("<div class=\"answer\">{}</div>\n", rendered(answer)),
        None => "<p>no answer</p>\n".to_owned(),
    });
    list(&mut text, run.citations.iter().map(wording::citation));
    text.push_str("<h2>Path</h2>\n<ol>\n");
    for step in &run.path {
        text.push_str(&format!(
            "<li>{}\n",
            escape(wording::step(step, summary.mode))
        ));
        list(&mut text, wording::notes(step).into_iter());
        text.push_str("</li>\n");
    }
    text.push_str("</ol>\n");
    if !run.evidence.is_empty() {
        text.push_str("<h2>Evidence</h2>\n");
    }
    for item in wording::in_order(run) {
        text.push_str(&format!(
            "<h3>{} {}</h3>\n<p class=\"about\">{}</p>\n<blockquote>{}</blockquote>\n",
            escape(wording::number(item)),
            escape(wording::place(item)),
            escape(wording::scores(item)),
            escape(wording::excerpt(item))
        ));
    }
    let troubles = wording::troubles(run);
    if !troubles.is_empty() {
        text.push_str("<h2>Warnings</h2>\n");
        list(&mut text, troubles.into_iter());
    }
    text + "</article>\n"
}

fn list(text: &mut String, lines: impl Iterator<Item = String>) {
    let items = lines.map(|line| format!("<li>{}</li>\n", escape(&line)));
    let items: Vec<String> = items.collect();
    if !items.is_empty() {
        text.push_str(&format!("<ul>\n{}</ul>\n", items.concat()));
    }
}
