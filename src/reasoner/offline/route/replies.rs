//! Replies to small talk (R24): friendly, and plain about what answers here. What is said and what it is
//! answered with is in the tables of languages.

use crate::domain::Language;

use super::super::language::{Phrases, Token, table, tokens};

/// The reply to the last thing said of which the table knows; to a greeting only where nothing else was.
pub(super) fn reply(message: &str, language: Language) -> String {
    let table = table(language);
    let tokens = tokens(message);
    let (said, replies) = (&table.said, &table.replies);
    let kinds: [(&Phrases, &String); 4] = [
        (&said.identity, &replies.identity),
        (&said.goodbye, &replies.goodbye),
        (&said.thanks, &replies.thanks),
        (&said.greeting, &replies.greeting),
    ];
    let found = kinds
        .iter()
        .find(|(phrases, _)| phrases.first(&tokens).is_some());
    found.map_or(&replies.other, |(_, reply)| reply).clone()
}

/// Whether a message is nothing but what the table has a reply to.
pub(super) fn is_all_social(message: &str, language: Language) -> bool {
    let said = &table(language).said;
    let lists = [&said.greeting, &said.thanks, &said.goodbye, &said.identity];
    let tokens = tokens(message);
    let mut at = 0;
    while at < tokens.len() {
        match lists.iter().filter_map(|list| list.at(&tokens, at)).max() {
            Some(length) => at += length,
            None if tokens[at].is_mark() => at += 1,
            None => return false,
        }
    }
    !tokens.iter().all(Token::is_mark)
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
            let replies = &table(language).replies;
            let expected = match kind {
                "greeting" => &replies.greeting,
                "thanks" => &replies.thanks,
                "goodbye" => &replies.goodbye,
                "identity" => &replies.identity,
                _ => &replies.other,
            };
            assert_eq!(reply(message, language), *expected, "{message}");
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
