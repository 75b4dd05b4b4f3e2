//! Replies to small talk (R24): friendly, and plain about what answers here. What is said and what it is
//! answered with is in the tables of languages.

use crate::domain::Language;

use super::super::language::{Token, table, tokens};

/// The reply to the most telling thing that a message says; to a greeting only where nothing else is said.
pub(super) fn reply(message: &str, language: Language) -> String {
    let talk = &table(language).small_talk;
    let tokens = tokens(message);
    let said = talk.iter().find(|talk| talk.said.is_in(&tokens));
    let reply = said.or(talk.last()).map(|talk| talk.reply.clone());
    reply.unwrap_or_default()
}

/// Whether a message is nothing but what the table has a reply to.
pub(super) fn is_all_social(message: &str, language: Language) -> bool {
    let (table, tokens) = (table(language), tokens(message));
    !tokens.iter().all(Token::is_mark) && table.uncovered(&table.social(), &tokens).is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r24_the_reply_fits_what_was_said() {
        for (message, language, kind) in [
            ("Hello there!", Language::En, "greeting"),
            ("hi, thanks a lot", Language::En, "thanks"),
            ("Thank you, bye", Language::En, "goodbye"),
            ("hey, who are you?", Language::En, "identity"),
            ("do you like jazz", Language::En, "other"),
            ("你好！", Language::Zh, "greeting"),
            ("谢谢你", Language::Zh, "thanks"),
            ("你是谁？", Language::Zh, "identity"),
            ("Guten Morgen", Language::De, "greeting"),
            ("Vielen Dank und tschüss", Language::De, "goodbye"),
        ] {
            let kinds = ["identity", "goodbye", "thanks", "greeting", "other"];
            let expected = kinds.iter().position(|it| *it == kind).unwrap();
            let replies = &table(language).small_talk;
            assert_eq!(
                reply(message, language),
                replies[expected].reply,
                "{message}"
            );
        }
    }

    #[test]
    fn r02_a_german_message_is_small_talk_only_as_a_whole() {
        assert!(is_all_social("Hallo, guten Morgen!", Language::De));
        assert!(!is_all_social(
            "Hallo, wo ist die Hausordnung?",
            Language::De
        ));
        assert!(!is_all_social("", Language::De));
        assert!(!is_all_social("?!", Language::De));
    }
}
