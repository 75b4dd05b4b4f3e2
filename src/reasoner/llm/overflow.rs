//! What a server that was sent too much says about how much would have fitted.
//!
//! Some count the reply that was allowed for into what was sent: then less has to be allowed for,
//! and perhaps nothing has to go.

use super::failure::Wordings;

/// Signs that the reply was counted.
const REPLY: &[&str] = &["completion", "max_tokens", "output", "max_new_tokens"];
/// Smaller numbers are statuses, codes and dates.
const LEAST: u32 = 64;
/// A reply for which so little is left would not be worth it.
const SHORTEST_REPLY: u32 = 64;

/// What to ask for next.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Shorter {
    /// The share of the prompt that would fit; `None` where the server does not say.
    pub share: Option<f64>,
    /// Where the reply is to end.
    pub max_tokens: u32,
}

/// Reads the server's words, in lower case; `max_tokens` is what was asked for, and `estimated` about
/// what was sent, where the server does not say.
pub fn shorter(wordings: &Wordings, words: &str, max_tokens: u32, estimated: u32) -> Shorter {
    let mut signs = wordings.context_signs();
    let Some(context) = signs.find_map(|sign| number_after(words, sign)) else {
        return Shorter {
            share: None,
            max_tokens,
        };
    };
    let sent = prompt_of(words, context, max_tokens).unwrap_or(estimated.max(1));
    let counts_reply = REPLY.iter().any(|sign| words.contains(sign));
    let (reply, room) = if counts_reply {
        let reply = max_tokens.min((context / 4).max(SHORTEST_REPLY));
        (reply, context.saturating_sub(reply))
    } else {
        (max_tokens, context)
    };
    Shorter {
        share: Some(f64::from(room) / f64::from(sent)),
        max_tokens: reply,
    }
}

fn number_after(words: &str, sign: &str) -> Option<u32> {
    let (_, after) = words.split_once(sign)?;
    let digits = after.split(|c: char| !c.is_ascii_digit()).next()?;
    digits.parse().ok().filter(|&number| number >= LEAST)
}

/// The largest number that is neither the context, nor the reply, nor a sum with the reply.
fn prompt_of(words: &str, context: u32, reply: u32) -> Option<u32> {
    let others = [context, reply, 400, 413, 422, 500];
    let numbers: Vec<u32> = words
        .split(|c: char| !c.is_ascii_digit())
        .filter_map(|digits| digits.parse().ok())
        .filter(|number| *number >= LEAST && !others.contains(number))
        .collect();
    let is_sum = |number: u32| numbers.contains(&number.saturating_sub(reply));
    numbers
        .iter()
        .copied()
        .filter(|&number| !is_sum(number))
        .max()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fits_is_read_from_what_servers_say() {
        let wordings = Wordings::with(None).unwrap();
        for (said, share, max_tokens) in [
            (
                r#"{"error":{"code":400,"message":"request (9015 tokens) exceeds the available context size (4096 tokens), try increasing it","n_ctx":4096,"n_prompt_tokens":9015}}"#,
                Some(4_096.0 / 9_015.0),
                2_000,
            ),
            (
                "'max_tokens' or 'max_completion_tokens' is too large: 2000. this model's maximum \
                 context length is 4000 tokens and your request has 2500 input tokens",
                Some(3_000.0 / 2_500.0),
                1_000,
            ),
            (
                "this model's maximum context length is 4097 tokens. however, your messages \
                 resulted in 5200 tokens.",
                Some(4_097.0 / 5_200.0),
                2_000,
            ),
            (
                "range of input length should be [1, 30720]",
                Some(30_720.0 / 40_000.0),
                2_000,
            ),
            ("the prompt is too long", None, 2_000),
        ] {
            assert_eq!(
                shorter(&wordings, said, 2_000, 40_000),
                Shorter { share, max_tokens },
                "{said}"
            );
        }
    }
}
