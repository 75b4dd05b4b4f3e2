//! What tokens cost, as rows of a table that users can add to.
//!
//! A price is either known or not: nothing is guessed from a name that looks alike, because a
//! wrong cost is worse than none. What a server says it charged goes before the list.

use serde::Deserialize;

use crate::domain::Usage;
use crate::files::read_tables;
use crate::text::one_line;

const PRICES: &str = include_str!("../../assets/llm/prices.toml");
/// Dollars for a million tokens are thousands of billionths for one.
const NANO_PER_TOKEN: f64 = 1_000.0;

/// The price list, the user's own entries first.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Prices {
    #[serde(default)]
    price: Vec<Price>,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Price {
    server: String,
    model: String,
    input: f64,
    #[serde(default)]
    cached: Option<f64>,
    output: f64,
}

impl Prices {
    /// The built-in list behind the entries of a file of the user's. The error is one line.
    pub fn with_user_rows(own: Option<&str>) -> Result<Self, String> {
        let prices: Self = read_tables(own, PRICES)?;
        if let Some(wrong) = prices.price.iter().find(|price| !price.is_money()) {
            let model = one_line(&wrong.model, 60);
            return Err(format!("the price of '{model}' is no amount of money"));
        }
        Ok(prices)
    }

    /// Sets what a call cost, where its price is known and the server has not said what it charged.
    pub fn set_cost(&self, usage: &mut Usage, server: &str, model: &str) {
        if usage.priced_calls == 0
            && let Some(price) = self.find(server, model)
        {
            usage.nano_usd = price.nano(usage).round() as u64;
            usage.priced_calls = usage.calls;
        }
    }

    fn find(&self, server: &str, model: &str) -> Option<&Price> {
        self.price.iter().find(|price| {
            (price.server == "*" || price.server == server) && fits(&price.model, model)
        })
    }
}

impl Price {
    fn nano(&self, usage: &Usage) -> f64 {
        let sent = usage.prompt_tokens.unwrap_or(0);
        let cached = usage.cached_tokens.unwrap_or(0).min(sent);
        let got = usage.completion_tokens.unwrap_or(0);
        let dollars = (sent - cached) as f64 * self.input
            + cached as f64 * self.cached.unwrap_or(self.input)
            + got as f64 * self.output;
        dollars * NANO_PER_TOKEN
    }

    fn is_money(&self) -> bool {
        let mut amounts = [self.input, self.cached.unwrap_or_default(), self.output].into_iter();
        amounts.all(|dollars| (0.0..f64::INFINITY).contains(&dollars))
    }
}

/// A dated version of a model, `gpt-4.1-2025-04-14`, costs what the model does.
fn fits(pattern: &str, model: &str) -> bool {
    if let Some(start) = pattern.strip_suffix('*') {
        return model.starts_with(start);
    }
    let is_date = |rest: &str| {
        rest.starts_with('-')
            && rest.len() > 8
            && rest.bytes().all(|b| b.is_ascii_digit() || b == b'-')
    };
    let rest = model.strip_prefix(pattern);
    rest.is_some_and(|rest| rest.is_empty() || is_date(rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    const COUNT: Usage = Usage {
        prompt_tokens: Some(1_000_000),
        completion_tokens: Some(100_000),
        cached_tokens: Some(400_000),
        ..Usage::ONE_CALL
    };

    fn cost(own: Option<&str>, server: &str, model: &str, mut usage: Usage) -> Option<f64> {
        let prices = Prices::with_user_rows(own).unwrap();
        prices.set_cost(&mut usage, server, model);
        usage.cost_usd()
    }

    #[test]
    fn what_was_read_from_a_cache_costs_less() {
        assert_eq!(
            cost(None, "openai", "gpt-4.1", COUNT),
            Some(0.6 * 2.0 + 0.4 * 0.5 + 0.1 * 8.0)
        );
        assert_eq!(cost(None, "openai", "gpt-4.1-2025-04-14", COUNT), Some(2.2));
    }

    #[test]
    fn what_is_not_listed_is_unknown() {
        for (server, model) in [
            ("openai", "gpt-9"),
            ("ollama", "gpt-4.1"),
            ("openai", "gpt-4.1-long"),
            // Variants with prices of their own.
            ("openai", "gpt-4o-mini-realtime-preview"),
            ("openai", "o4-mini-deep-research"),
            ("openai", "gpt-5-pro"),
        ] {
            assert_eq!(cost(None, server, model, COUNT), None, "{server} {model}");
        }
    }

    #[test]
    fn a_dated_version_costs_what_its_model_does_unless_it_is_listed_itself() {
        let dollars = |model| cost(None, "openai", model, COUNT);
        assert!(dollars("gpt-5-mini").is_some());
        assert_eq!(dollars("gpt-5-mini-2025-08-07"), dollars("gpt-5-mini"));
        assert_eq!(dollars("gpt-4o-2024-11-20"), dollars("gpt-4o"));
        assert_eq!(dollars("gpt-4o-2024-05-13"), Some(5.0 + 0.1 * 15.0));
    }

    #[test]
    fn every_built_in_price_says_where_it_was_listed_and_when() {
        let entries: Vec<&str> = PRICES.split("\n[[price]]").collect();
        let (last, before) = entries.split_last().unwrap();
        assert!(last.contains("output = "));
        for above in before {
            let line = above.lines().last().unwrap();
            let dated = line.rsplit(' ').next().is_some_and(is_month);
            assert!(line.starts_with("# https://") && dated, "{line}");
        }
    }

    fn is_month(date: &str) -> bool {
        let date = date.trim_end_matches('.');
        date.len() == 7 && date.bytes().all(|b| b.is_ascii_digit() || b == b'-')
    }

    #[test]
    fn what_the_server_charged_goes_first_and_own_prices_before_the_list() {
        let charged = Usage {
            nano_usd: 12_500_000,
            priced_calls: 1,
            ..COUNT
        };
        assert_eq!(cost(None, "openrouter", "any", charged), Some(0.0125));
        let own = "[[price]]\nserver = '*'\nmodel = '*'\ninput = 1\noutput = 0\n";
        assert_eq!(cost(Some(own), "openai", "gpt-4.1", COUNT), Some(1.0));
    }

    #[test]
    fn a_broken_list_is_one_line() {
        for own in [
            "[[price]]\nserver='x'",
            "[[price]]\nserver='x'\nmodel='y'\ninput=-1\noutput=0",
            "=",
        ] {
            let line = Prices::with_user_rows(Some(own)).unwrap_err();
            assert_eq!(line.lines().count(), 1, "{line}");
        }
    }
}
