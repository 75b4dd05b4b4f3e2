//! Which way a question goes: the routing plan, the reply to small talk, and what decided it.
//!
//! Learned weights decide what is small talk and what is complex; lists only choose the reply. A false
//! "small talk" costs an answer and a missed one a search, so the doubt is knowledge's: what must be
//! taken literally, an identifier or a file, is never small talk.

mod learned;

use super::language::{filled, is_known_script, language_of, table, tokens};
use crate::agent::ports::{Analysis, Embedder};
use crate::domain::{
    Complexity, Cue, Language, Literals, Parts, QueryType, Question, QuestionKind,
    RouterThresholds, RoutingPlan, ToolName, ToolRecord, Usage,
};
use crate::text::is_cjk;

/// Characters of the longest small talk; longer messages have something to say.
const LONGEST_TALK: usize = 160;
/// Words of a message that is nothing but a noun or two.
const LONGEST_QUERY: usize = 3;

/// What is known of a question beside its text.
#[derive(Debug, Clone, Copy, Default)]
pub struct Known<'a> {
    /// The route that the user chose.
    pub forced: Option<Complexity>,
    /// The calls that led nowhere.
    pub failed: &'a [ToolRecord],
    /// What of it the documents speak of; `None` where nobody can tell.
    pub spoken_of: Option<&'a [String]>,
}

/// Routes a question. Blocks while it embeds.
pub fn route(
    question: &Question,
    known: Known<'_>,
    thresholds: RouterThresholds,
    embedder: &dyn Embedder,
) -> Analysis {
    let Known { forced, failed, .. } = known;
    let (text, language) = (question.text.as_str(), question.language);
    let vector = vector_of_talk(question, embedder);
    let talk = |text: &str| match &vector {
        None => 0.0,
        Some(vector) => {
            let learned = learned::small_talk(text, language, vector).unwrap_or_default();
            learned.max(f64::from(is_all_social(text, language)))
        }
    };
    let small_talk = talk(text);
    let usual_talk_from = table(language).small_talk_from;
    let talk_from = thresholds.chitchat.unwrap_or(usual_talk_from);
    let is_undecided = failed.is_empty() && !wants_knowledge(question);
    let is_social = is_all_social(text, language);
    let topics = known.spoken_of.filter(|topics| {
        let is_named = topics.contains(&question.subject);
        is_undecided && (!is_social || is_named && !greets(question))
    });
    let why_looked_up = topics.and_then(|topics| reason_to_search(question, topics));
    // Where something else decides, the threshold does not.
    let may_be_talk = is_undecided && why_looked_up.is_none();
    let seems_talk = may_be_talk && small_talk >= talk_from;
    let is_talk = forced.map_or(seems_talk, |it| it == Complexity::Chitchat);
    let mut because = Reasons::default();
    if may_be_talk && vector.is_some() {
        because.measure(Complexity::Chitchat, small_talk, talk_from, usual_talk_from);
    }
    let plan = if is_talk {
        because.sentence = Some("small talk; nothing to look up".to_owned());
        because.words = deciding_words(text, talk);
        because.measure_complexity(question, thresholds);
        RoutingPlan {
            query_type: QueryType::Chitchat,
            complexity: Complexity::Chitchat,
            ..RoutingPlan::default()
        }
    } else {
        let plan = plan_knowledge(question, forced, failed, thresholds, &mut because);
        let doubt = why_looked_up.filter(|_| small_talk >= talk_from);
        let doubt = doubt.map(|why| Cue::with_weight(format!("small talk, but {why}"), small_talk));
        because.words.extend(doubt);
        plan
    };
    let because = forced.map_or_else(|| because.into_cues(plan.complexity), |_| Vec::new());
    Analysis {
        plan,
        reply: is_talk.then(|| reply(text, language)),
        search_hint: search_hint(question).filter(|_| is_talk && forced.is_none()),
        because,
        reason: None,
        small_talk: Some(small_talk),
        by: None,
        built_in: None,
        built_in_because: Vec::new(),
        usage: Usage::ONE_CALL,
        warnings: Vec::new(),
    }
}

/// Why a message that sounds like small talk is looked up: the documents speak of it, it asks for something, or it is
/// nothing but a noun or two.
fn reason_to_search(question: &Question, spoken_of: &[String]) -> Option<String> {
    if let Some(topic) = spoken_of.first() {
        return Some(format!("the documents speak of “{topic}”"));
    }
    let (table, tokens) = (table(question.language), tokens(&question.text));
    let tokens = table.without_slips(tokens);
    let outside = table.uncovered(&table.social(), &tokens);
    let asks = |at: &usize| table.asks_at(&tokens, *at).is_some();
    let is_addressed = table.addressee.is_in(&tokens);
    if outside.iter().any(asks) && (question.topics.is_empty() || !is_addressed) {
        return Some("it asks for something".to_owned());
    }
    let mut said = table.social();
    said.extend([&table.stop, &table.starts]);
    let words = tokens.iter().filter(|token| !token.is_mark()).count();
    let is_query = words <= LONGEST_QUERY && table.uncovered(&said, &tokens).len() == words;
    is_query.then(|| "it names something".to_owned())
}

/// What a message is judged by beside its words: the vector of an English one, else nothing. `None` where it says too
/// much, or too little, to be small talk, or where its vector is missing.
fn vector_of_talk(question: &Question, embedder: &dyn Embedder) -> Option<Vec<f32>> {
    let (text, literals) = (question.text.as_str(), &question.literals);
    let is_named = !literals.keywords().is_empty() || !literals.paths.is_empty();
    let is_long = text.chars().nth(LONGEST_TALK).is_some();
    if is_named || is_long || !text.contains(char::is_alphanumeric) {
        return None;
    }
    match question.language {
        Language::EN => embedder.embed(&[text]).ok()?.pop(),
        _ => Some(Vec::new()),
    }
}

/// Whether a question goes on from what was talked about ("why?" alone would be small talk), or compares two things.
fn wants_knowledge(question: &Question) -> bool {
    let goes_on = question.continues.is_some() && question.kind != QuestionKind::Other;
    goes_on || matches!(question.parts, Parts::Sides { .. })
}

/// The plan of a question that is looked up; what decided it goes to `because`.
fn plan_knowledge(
    question: &Question,
    forced: Option<Complexity>,
    failed: &[ToolRecord],
    thresholds: RouterThresholds,
    because: &mut Reasons,
) -> RoutingPlan {
    let judged = if failed.is_empty() {
        complexity(question, thresholds, because)
    } else {
        // Only a complex question is graded, so one that comes back was complex.
        let reason = "nothing useful was found before; another way is tried";
        because.sentence = Some(reason.to_owned());
        Complexity::Complex
    };
    let query_type = query_type(question);
    let mut plan = RoutingPlan {
        query_type,
        complexity: forced.unwrap_or(judged),
        parts: question.parts.clone(),
        sub_questions: sub_questions(question),
        suggested_tools: tools_for(query_type, &question.literals, failed),
        grep_keywords: question.literals.keywords(),
        rewritten: None,
    };
    plan.reconcile();
    plan
}

/// Whether a question needs several look-ups: it has parts, or the weights say so.
fn complexity(
    question: &Question,
    thresholds: RouterThresholds,
    because: &mut Reasons,
) -> Complexity {
    let text = question.text.as_str();
    let chance_of = |text: &str| learned::complexity(text, question.language).unwrap_or_default();
    let (route, reason) = match &question.parts {
        Parts::Sides { .. } => (Complexity::Complex, "two things are compared".to_owned()),
        Parts::Several { .. } => {
            let reason = "several questions are asked at once";
            (Complexity::Complex, reason.to_owned())
        }
        Parts::One => match because.measure_complexity(question, thresholds) {
            Some(true) => {
                because.words = deciding_words(text, chance_of);
                let reason = "the question ties several facts together";
                (Complexity::Complex, reason.to_owned())
            }
            is_complex => {
                if is_complex.is_some() {
                    because.words = deciding_words(text, |text| 1.0 - chance_of(text));
                }
                (Complexity::Simple, reason_of_simple(question.kind))
            }
        },
    };
    because.sentence = Some(reason);
    route
}

/// The thresholds that decide over a question: those that are set, else those of its language.
pub fn effective_thresholds(set: RouterThresholds, language: Language) -> RouterThresholds {
    let table = table(language);
    RouterThresholds {
        chitchat: set.chitchat.or(Some(table.small_talk_from)),
        complex: set.complex.or(Some(table.complex_from)),
    }
}

/// The parts as questions that stand alone.
fn sub_questions(question: &Question) -> Vec<String> {
    match &question.parts {
        Parts::One => Vec::new(),
        Parts::Sides { left, right } => {
            let table = table(question.language);
            vec![filled(&table.about, left), filled(&table.about, right)]
        }
        Parts::Several { questions } => questions.clone(),
    }
}

/// Whether weights were trained to tell small talk in the language of a message.
pub fn tells_small_talk(message: &str) -> bool {
    let language = language_of(message);
    is_known_script(message) && learned::small_talk(message, language, &[]).is_some()
}

/// How to search for a message that is taken for small talk; `None` where it is nothing else.
pub fn search_hint(question: &Question) -> Option<String> {
    let (text, language) = (&question.text, question.language);
    let is_social = is_all_social(text, language);
    (!is_social).then(|| table(language).frames.search_instead.clone())
}

/// The reply to the most telling thing that a message says (R24); to a greeting only where nothing else is said.
fn reply(message: &str, language: Language) -> String {
    let table = table(language);
    let tokens = table.without_slips(tokens(message));
    let mut talk = table.small_talk.iter();
    let said = talk.find(|talk| talk.said.is_in(&tokens));
    let reply = said
        .or(table.small_talk.last())
        .map(|talk| talk.reply.clone());
    reply.unwrap_or_default()
}

/// Whether a message thanks, greets, takes leave or asks who answers; other small talk, such as praise, may be what a
/// document is called by.
fn greets(question: &Question) -> bool {
    let table = table(question.language);
    let tokens = table.without_slips(tokens(&question.text));
    let kinds = table
        .small_talk
        .split_last()
        .map_or(&[][..], |(_, kinds)| kinds);
    kinds.iter().any(|talk| talk.said.is_in(&tokens))
}

/// Whether a message is nothing but thanks, a greeting or a goodbye: it holds what the table has a reply to, asks for
/// nothing, and has no word beside that carries meaning.
fn is_all_social(message: &str, language: Language) -> bool {
    let table = table(language);
    let tokens = table.without_slips(tokens(message));
    let is_social = table.small_talk.iter().any(|talk| talk.said.is_in(&tokens));
    let social = table.social();
    let outside = table.uncovered(&social, &tokens);
    if outside.is_empty() || !is_social {
        return is_social;
    }
    let asks = |at: usize| table.asks_at(&tokens, at).is_some();
    let asks_in_greeting = || (0..tokens.len()).any(|at| asks(at) && !outside.contains(&at));
    let is_question = message.contains(['?', '？']) && !asks_in_greeting();
    let mut lists = social;
    lists.extend([&table.stop, &table.social_filler, &table.addressee]);
    !is_question
        && !outside.iter().any(|at| asks(*at))
        && table.uncovered(&lists, &tokens).is_empty()
}

// What decided a route: a sentence for people, then what was measured, each with its threshold, and the words that
// the probability rests on most.

/// What decided a route, as far as that is known.
#[derive(Default)]
struct Reasons {
    sentence: Option<String>,
    measures: Vec<Cue>,
    words: Vec<Cue>,
    /// Whether a threshold that is set decides otherwise than that of the language, so that no sentence holds.
    is_by_threshold: bool,
}

impl Reasons {
    /// Holds a probability against its threshold. Returns whether the route is taken.
    fn measure(&mut self, route: Complexity, probability: f64, from: f64, usual: f64) -> bool {
        let is_taken = probability >= from;
        self.is_by_threshold |= is_taken != (probability >= usual);
        self.measures.push(Cue::measured(route, probability, from));
        is_taken
    }

    /// Whether a question is complex by what was learned; `None` where nothing was learned in its language, or where
    /// its parts decide.
    fn measure_complexity(
        &mut self,
        question: &Question,
        thresholds: RouterThresholds,
    ) -> Option<bool> {
        if !question.parts.is_one() {
            return None;
        }
        let chance = learned::complexity(&question.text, question.language)?;
        let usual = table(question.language).complex_from;
        let from = thresholds.complex.unwrap_or(usual);
        Some(self.measure(Complexity::Complex, chance, from, usual))
    }

    /// The measure that decided comes first: of small talk its own, else that of a complex question.
    fn into_cues(mut self, route: Complexity) -> Vec<Cue> {
        if route != Complexity::Chitchat {
            self.measures.reverse();
        }
        let sentence = self.sentence.filter(|_| !self.is_by_threshold);
        let sentence = sentence.map(|reason| Cue::sentence(&reason));
        let measured = self.measures.into_iter().chain(self.words);
        sentence.into_iter().chain(measured).collect()
    }
}

/// Most words that a reason lists.
const WORDS: usize = 3;
/// A word that changes the probability by less decided nothing.
const DECIDING_FROM: f64 = 0.05;
/// Longer questions are not taken apart word by word.
const MOST_WORDS: usize = 40;

/// Why a question needs one look-up only.
pub fn reason_of_simple(kind: QuestionKind) -> String {
    let asked = match kind {
        QuestionKind::Definition => "meaning",
        QuestionKind::How => "way to do something",
        QuestionKind::Why => "reason",
        QuestionKind::List | QuestionKind::State => "list",
        QuestionKind::File => "document",
        QuestionKind::Overview => return "the documents as a whole are asked for".to_owned(),
        _ => "fact",
    };
    format!("one {asked} is asked for; nothing to compare")
}

/// The words without which the probability that `judge` gives falls most, each with by how much. What is written
/// without spaces has no words.
fn deciding_words(text: &str, judge: impl Fn(&str) -> f64) -> Vec<Cue> {
    let whole = judge(text);
    let words: Vec<&str> = text.split_whitespace().take(MOST_WORDS + 1).collect();
    let mut falls: Vec<(&str, f64)> = Vec::new();
    if (2..=MOST_WORDS).contains(&words.len()) && !text.contains(is_cjk) {
        for (at, word) in words.iter().enumerate() {
            let others = [&words[..at], &words[at + 1..]].concat().join(" ");
            falls.push((word, whole - judge(&others)));
        }
    }
    falls.retain(|(_, fall)| *fall >= DECIDING_FROM);
    falls.sort_by(|a, b| b.1.total_cmp(&a.1));
    falls.truncate(WORDS);
    let falls = falls.into_iter().map(|(word, fall)| {
        let word = word.trim_matches(|c: char| !c.is_alphanumeric());
        Cue::with_weight(format!("\"{word}\""), fall)
    });
    falls.collect()
}

// The kind of looking-up, and the tools worth trying.

/// What kind of looking-up a question asks for.
pub fn query_type(question: &Question) -> QueryType {
    let literals = &question.literals;
    let has_path = !literals.paths.is_empty();
    let has_keyword = !literals.keywords().is_empty();
    match question.kind {
        // Links are followed from something; without a name there is nothing to follow.
        QuestionKind::Relation if has_path || has_keyword => QueryType::Relational,
        QuestionKind::File | QuestionKind::Overview => QueryType::FileDiscovery,
        _ if has_path => QueryType::FileDiscovery,
        _ if has_keyword => QueryType::Exact,
        _ => QueryType::Conceptual,
    }
}

/// The tools worth trying, best first; after calls that led nowhere others than those.
pub fn tools_for(kind: QueryType, literals: &Literals, failed: &[ToolRecord]) -> Vec<ToolName> {
    use ToolName::{GraphRelated, GrepSearch, HybridSearch, LocalFileQa, ReadFile, VectorSearch};
    let first = match kind {
        QueryType::Exact => GrepSearch,
        QueryType::Relational => GraphRelated,
        QueryType::FileDiscovery if !literals.paths.is_empty() => ReadFile,
        // What this tool brings is approved unseen, so only where a file is asked for.
        QueryType::FileDiscovery => LocalFileQa,
        QueryType::Conceptual | QueryType::Chitchat => HybridSearch,
    };
    let untried = |tool: &ToolName| failed.iter().all(|record| record.call.tool() != *tool);
    let others = [first, HybridSearch, VectorSearch, GrepSearch].into_iter();
    let mut tools: Vec<ToolName> = others.filter(untried).take(1).collect();
    // A file that is named without lines may be one that the documents only speak of.
    let has_lines = literals.paths.iter().any(|path| path.start.is_some());
    let is_file = tools.contains(&LocalFileQa) || tools.contains(&ReadFile) && has_lines;
    // After a failure the plan asks in other words what was asked before.
    if !is_file && !tools.contains(&HybridSearch) {
        tools.push(HybridSearch);
    }
    tools
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::ports::EmbedError;
    use crate::domain::{ToolName, measure_of, measures_in_words, spoken_reasons};
    use crate::reasoner::offline::question::read;

    /// Measures nothing, so that the words decide alone.
    struct NoVector;

    impl Embedder for NoVector {
        fn model_id(&self) -> &'static str {
            "none"
        }

        fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError> {
            Ok(vec![Vec::new(); texts.len()])
        }
    }

    /// Has none, and says so.
    struct Broken;

    impl Embedder for Broken {
        fn model_id(&self) -> &'static str {
            "broken"
        }

        fn embed(&self, _: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError> {
            Err(EmbedError("it is broken".into()))
        }
    }

    fn routed(text: &str) -> Analysis {
        routed_from(RouterThresholds::default(), text)
    }

    fn routed_from(thresholds: RouterThresholds, text: &str) -> Analysis {
        route(&read(text, &[]), Known::default(), thresholds, &NoVector)
    }

    #[test]
    fn r01_thresholds_that_are_set_move_a_route() {
        // Without a vector the words alone tell how probable a route is.
        let talk = routed("that was a nice talk").small_talk.unwrap();
        assert!(talk > 0.01 && talk < 0.8, "{talk}");
        let complexity = |chitchat, complex, text| {
            let thresholds = RouterThresholds { chitchat, complex };
            routed_from(thresholds, text).plan.complexity
        };
        let because = routed("that was a nice talk").because;
        assert_eq!(because[0].cue, "one fact is asked for; nothing to compare");
        assert_eq!(
            measure_of(&because, Complexity::Chitchat),
            Some((talk, 0.8))
        );
        assert!(measure_of(&because, Complexity::Complex).is_some());
        for (chitchat, expected) in [
            (None, Complexity::Simple),
            (Some(talk), Complexity::Chitchat),
            (Some(1.0), Complexity::Simple),
        ] {
            let taken = complexity(chitchat, None, "that was a nice talk");
            assert_eq!(taken, expected, "{chitchat:?}");
        }
        for (complex, expected) in [
            (Some(0.01), Complexity::Complex),
            (Some(1.0), Complexity::Simple),
        ] {
            let taken = complexity(None, complex, "Which of the rules saves the most calls?");
            assert_eq!(taken, expected, "{complex:?}");
        }
        // The sentence of a cue does not hold where only the threshold made the route.
        let question = "Who wrote the ticket about the grader that also changed the plan node?";
        let chance = measure_of(&routed(question).because, Complexity::Complex);
        let (chance, usual) = chance.unwrap();
        assert!(chance >= usual, "{chance}");
        let thresholds = RouterThresholds {
            complex: Some(chance + 0.01),
            ..RouterThresholds::default()
        };
        let because = routed_from(thresholds, question).because;
        assert_eq!(spoken_reasons(&because).count(), 0, "{because:?}");
        let words = measures_in_words(&because).unwrap();
        assert!(
            words.starts_with("complex 0.") && words.contains(" < "),
            "{words}"
        );
    }

    #[test]
    fn r02_small_talk_is_answered_and_knowledge_looked_up() {
        for talk in ["你好！", "Guten Morgen!", "Vielen Dank!"] {
            let routed = routed(talk);
            assert_eq!(routed.plan.complexity, Complexity::Chitchat, "{talk}");
            assert!(routed.reply.is_some() && routed.plan.suggested_tools.is_empty());
            assert_eq!(routed.because[0].cue, "small talk; nothing to look up");
        }
        for knowledge in [
            "What is the default chunk size?",
            "hello PROJ-12",
            "thanks.md",
            "Hallo, wo steht die Hausordnung?",
            "快速路径会跳过哪些节点？",
            "",
        ] {
            let routed = routed(knowledge);
            assert_ne!(routed.plan.complexity, Complexity::Chitchat, "{knowledge}");
            assert_eq!(routed.reply, None);
        }
    }

    #[test]
    fn r02_without_a_vector_nothing_english_is_small_talk() {
        let thresholds = RouterThresholds::default();
        let question = read("Hello there!", &[]);
        let routed = route(&question, Known::default(), thresholds, &Broken);
        assert_eq!(routed.plan.complexity, Complexity::Simple);
        let talk = Known {
            forced: Some(Complexity::Chitchat),
            ..Known::default()
        };
        let forced = route(&question, talk, thresholds, &Broken);
        assert_eq!(forced.plan.complexity, Complexity::Chitchat);
        assert!(forced.reply.is_some() && forced.because.is_empty());
    }

    #[test]
    fn r03_parts_become_questions_of_their_own() {
        let plan = routed("What is the difference between Redis and Kafka?").plan;
        assert_eq!(plan.complexity, Complexity::Complex);
        assert_eq!(plan.sub_questions, ["What is Redis?", "What is Kafka?"]);
        let plan = routed("Was unterscheidet Miete von Pacht?").plan;
        assert_eq!(plan.sub_questions, ["Was ist Miete?", "Was ist Pacht?"]);
        let plan = routed("What is a chunk? How long may a passage be?").plan;
        assert_eq!(plan.sub_questions.len(), 2);
        let simple = route(
            &read("Redis vs Kafka", &[]),
            Known {
                forced: Some(Complexity::Simple),
                ..Known::default()
            },
            RouterThresholds::default(),
            &NoVector,
        );
        assert!(simple.plan.sub_questions.is_empty());
    }

    #[test]
    fn r01_the_tools_follow_from_what_is_named() {
        use ToolName::{GraphRelated, GrepSearch, HybridSearch, LocalFileQa, ReadFile};
        for (text, kind, tools) in [
            (
                "Who works on proj-12?",
                QueryType::Exact,
                vec![GrepSearch, HybridSearch],
            ),
            (
                "What depends on PROJ-12?",
                QueryType::Relational,
                vec![GraphRelated, HybridSearch],
            ),
            (
                "What does guide.md say?",
                QueryType::FileDiscovery,
                vec![ReadFile, HybridSearch],
            ),
            (
                "Which file describes the cache?",
                QueryType::FileDiscovery,
                vec![LocalFileQa],
            ),
            (
                "How is the cache cleared?",
                QueryType::Conceptual,
                vec![HybridSearch],
            ),
            (
                "哪个文件描述缓存？",
                QueryType::FileDiscovery,
                vec![LocalFileQa],
            ),
        ] {
            let plan = routed(text).plan;
            assert_eq!(plan.query_type, kind, "{text}");
            assert_eq!(plan.suggested_tools, tools, "{text}");
        }
        assert_eq!(
            routed("Who works on proj-12?").plan.grep_keywords,
            ["PROJ-12"]
        );
    }

    #[test]
    fn r24_the_reply_fits_what_was_said() {
        for (message, language, kind) in [
            ("Hello there!", Language::EN, "greeting"),
            ("hi, thanks a lot", Language::EN, "thanks"),
            ("Thank you, bye", Language::EN, "goodbye"),
            ("hey, who are you?", Language::EN, "identity"),
            ("do you like jazz", Language::EN, "other"),
            ("你好！", Language::ZH, "greeting"),
            ("谢谢你", Language::ZH, "thanks"),
            ("你是谁？", Language::ZH, "identity"),
            ("Guten Morgen", Language("de"), "greeting"),
            ("Vielen Dank und tschüss", Language("de"), "goodbye"),
            ("Здравствуйте!", Language("ru"), "greeting"),
            ("Merci beaucoup !", Language("fr"), "thanks"),
            ("Gracias y hasta luego", Language("es"), "goodbye"),
            ("Quem é você?", Language("pt"), "identity"),
            ("Buongiorno", Language("it"), "greeting"),
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
        assert!(is_all_social("Hallo, guten Morgen!", Language("de")));
        assert!(!is_all_social(
            "Hallo, wo ist die Hausordnung?",
            Language("de")
        ));
        assert!(!is_all_social("", Language("de")));
        assert!(!is_all_social("?!", Language("de")));
    }
}

#[cfg(test)]
mod reasons_tests {
    use super::*;

    #[test]
    fn a_word_counts_by_what_goes_without_it() {
        let judge = |text: &str| if text.contains("both") { 0.9 } else { 0.2 };
        let cues = deciding_words("so both, then", judge);
        assert_eq!((cues.len(), cues[0].cue.as_str()), (1, "\"both\""));
        assert!((cues[0].weight.unwrap() - 0.7).abs() < 1e-9);
        assert!(deciding_words("both", judge).is_empty());
    }
}
