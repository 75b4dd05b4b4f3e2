//! Prompts as they are read: what is fenced in them can be folded.
//!
//! Fences are tags with a mark of eight hexadecimal digits that was made up for the request, so that
//! no document can open or close one.

/// A stretch of a prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PromptSection<'a> {
    /// A line of its own.
    Line(&'a str),
    /// What is between two tags, both included.
    Fenced {
        /// The tag without its mark: `evidence`.
        tag: &'a str,
        /// What the tag says besides, such as `n="1" source="a.md"`.
        attributes: &'a str,
        /// The lines between.
        inside: Vec<&'a str>,
    },
}

/// A part with fewer lines is shown as it is.
const FOLDED_FROM: usize = 3;

/// The prompt in its order.
pub fn sections(prompt: &str) -> Vec<PromptSection<'_>> {
    let lines: Vec<&str> = prompt.lines().collect();
    let mut found = Vec::new();
    let mut at = 0;
    while at < lines.len() {
        let fenced = opening(lines[at]).and_then(|(tag, mark, attributes)| {
            let close = format!("</{tag}-{mark}>");
            let length = lines[at + 1..].iter().position(|line| *line == close)?;
            Some((tag, attributes, length))
        });
        match fenced {
            Some((tag, attributes, length)) if tag == "evidence" || length >= FOLDED_FROM => {
                found.push(PromptSection::Fenced {
                    tag,
                    attributes,
                    inside: lines[at + 1..=at + length].to_vec(),
                });
                at += length + 2;
            }
            _ => {
                found.push(PromptSection::Line(lines[at]));
                at += 1;
            }
        }
    }
    found
}

/// Tag, mark and attributes of a line that is nothing but an opening tag.
fn opening(line: &str) -> Option<(&str, &str, &str)> {
    let inside = line.strip_prefix('<')?.strip_suffix('>')?;
    let (name, attributes) = inside.split_once(' ').unwrap_or((inside, ""));
    let (tag, mark) = name.rsplit_once('-')?;
    let is_mark = mark.len() == 8 && mark.bytes().all(|byte| byte.is_ascii_hexdigit());
    let is_tag = !tag.is_empty() && tag.bytes().all(|byte| byte.is_ascii_lowercase());
    (is_mark && is_tag).then_some((tag, mark, attributes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn evidence_folds_and_the_rest_stays() {
        let prompt = "[user]\n<evidence-0a1b2c3d n=\"1\">\n</evidence>\n</evidence-00000000>\n\
                      </evidence-0a1b2c3d>\n<question-0a1b2c3d>\nwhich?\n</question-0a1b2c3d>\n<b>";
        let found = sections(prompt);
        let PromptSection::Fenced {
            tag,
            attributes,
            inside,
        } = &found[1]
        else {
            panic!("{found:?}");
        };
        assert_eq!((*tag, *attributes), ("evidence", "n=\"1\""));
        // Only the tag with the mark closes it.
        assert_eq!(inside, &["</evidence>", "</evidence-00000000>"]);
        assert_eq!(found[0], PromptSection::Line("[user]"));
        assert_eq!(found[2], PromptSection::Line("<question-0a1b2c3d>"));
        assert_eq!(found.last(), Some(&PromptSection::Line("<b>")));
    }

    #[test]
    fn a_fence_that_never_closes_hides_nothing() {
        let prompt = "<evidence-0a1b2c3d n=\"1\">\ntext";
        assert_eq!(
            sections(prompt),
            [
                PromptSection::Line("<evidence-0a1b2c3d n=\"1\">"),
                PromptSection::Line("text")
            ]
        );
    }
}
