//! One page that needs nothing else: no script, nothing loaded, everything that was recorded escaped.

use quick_xml::escape::escape;

use super::wording;
use crate::protocol::RunRecord;
use crate::text::sanitize;

const HEAD: &str = "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n";
const STYLE: &str = "<style>\n\
:root { color-scheme: light dark; }\n\
body { font: 16px/1.5 system-ui, sans-serif; max-width: 52rem; margin: 2rem auto; padding: 0 1rem; }\n\
article + article { border-top: 1px solid; margin-top: 3rem; }\n\
.about { opacity: .75; font-size: .9rem; overflow-wrap: anywhere; }\n\
.answer { white-space: pre-wrap; border-left: 3px solid; padding-left: 1rem; }\n\
blockquote { margin: .25rem 0 1rem; padding-left: 1rem; border-left: 1px solid; }\n\
li { overflow-wrap: anywhere; }\n\
</style>\n";

/// The runs, one after the other, as a whole page.
pub(super) fn document(runs: &[RunRecord]) -> String {
    let title = runs.first().map(|run| wording::question(&run.summary));
    let title = escape(title.unwrap_or_default());
    let sections: String = runs.iter().map(section).collect();
    format!("{HEAD}<title>{title}</title>\n{STYLE}</head>\n<body>\n{sections}</body>\n</html>\n")
}

fn section(run: &RunRecord) -> String {
    let summary = &run.summary;
    let mut text = format!(
        "<article>\n<h1>{}</h1>\n",
        escape(wording::question(summary))
    );
    let about = [wording::course(summary), wording::names(summary)];
    for line in about.into_iter().chain(wording::labels(run)) {
        text.push_str(&format!("<p class=\"about\">{}</p>\n", escape(&line)));
    }
    text.push_str("<h2>Answer</h2>\n");
    text.push_str(&match &run.answer {
        Some(answer) => format!("<div class=\"answer\">{}</div>\n", escape(sanitize(answer))),
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
