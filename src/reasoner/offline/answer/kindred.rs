//! Words that mean the same when something is asked of documents.
//!
//! People ask what something costs and documents state a price; people quit, documents tell how to
//! exit. The embedding bridges much of this in English, little in German and hardly any in Chinese.
//! The groups hold plain words of any household or office, never of one subject.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use super::words::terms;
use crate::text::is_chinese;

/// What it is worth to hold a kindred word rather than the word itself.
pub(super) const KINDRED: f64 = 0.8;

/// The kindred words of a term, as terms.
pub(super) fn kin_of(term: &str) -> &'static [String] {
    KIN.get(term).map_or(&[], Vec::as_slice)
}

/// Whether the words hold the term or one that is kindred.
pub(super) fn holds(held: &HashSet<String>, term: &str) -> bool {
    held.contains(term) || kin_of(term).iter().any(|kin| held.contains(kin))
}

/// A Chinese question with each phrase that nothing found holds replaced by a kindred one that
/// something does hold: its words have no borders at which they could be compared one by one.
pub(super) fn in_known_words(question: &str, held: &[HashSet<String>]) -> String {
    let mut words = question.to_owned();
    if !is_chinese(question) {
        return words;
    }
    let known = |phrase: &str| {
        let terms = terms(phrase);
        held.iter()
            .any(|held| terms.iter().all(|term| held.contains(term)))
    };
    for group in CHINESE {
        // The longest, or 买 would be replaced within 购买.
        let said = group.iter().filter(|phrase| question.contains(**phrase));
        if let Some(said) = said.min_by_key(|phrase| std::cmp::Reverse(phrase.len()))
            && !known(said)
            && let Some(other) = group.iter().find(|phrase| known(phrase))
        {
            words = words.replacen(said, other, 1);
        }
    }
    words
}

static KIN: LazyLock<HashMap<String, Vec<String>>> = LazyLock::new(|| {
    let mut kin: HashMap<String, Vec<String>> = HashMap::new();
    for group in WORDS {
        let stems: Vec<String> = group.iter().flat_map(|word| terms(word)).collect();
        for stem in &stems {
            let others = stems.iter().filter(|other| *other != stem);
            kin.entry(stem.clone()).or_default().extend(others.cloned());
        }
    }
    kin
});

#[rustfmt::skip]
const WORDS: &[&[&str]] = &[
    &["cost", "price", "fee", "charge", "kosten", "kostet", "preis"],
    &["quit", "exit"],
    &["begin", "start", "launch"],
    &["choose", "select", "pick"],
    &["configure", "setup", "setting", "connect"],
    &["change", "edit", "modify", "overwrite", "alter"],
    &["upload", "send", "sent", "transmit"],
    &["file", "document"],
    &["internet", "network", "online"],
    &["crash", "fail"],
    &["delete", "remove", "erase", "discard"],
    &["buy", "purchase", "bought"],
    &["phone", "telephone"],
    &["stored", "kept", "saved", "located"],
    &["show", "display"],
    &["permitted", "allowed"],
    &["permission", "consent", "approval"],
    &["broken", "defective", "damaged", "faulty"],
    &["kill", "destroy"],
    &["repair", "fix", "mend", "mended"],
    &["big", "large", "size"],
    &["fast", "quick", "speed"],
    &["theme", "themes", "colour", "colours", "color", "style"],
    &["reason", "cause", "because"],
    &["teach", "train", "learn"],
    &["boss", "manager", "head", "chief", "lead"],
    &["doctor", "physician"],
    &["holiday", "vacation"],
    &["salary", "wage"],
    &["trash", "rubbish", "waste", "garbage", "refuse"],
    &["flat", "apartment"],
    &["rent", "lease"],
    &["car", "vehicle"],
    &["wash", "clean"],
    &["cook", "bake", "prepare"],
    &["meeting", "session"],
    &["deadline", "due"],
    &["email", "mail"],
    &["photo", "picture", "image"],
    &["kaputt", "defekt", "störung"],
    &["müll", "abfall"],
    &["wohnung", "flat"],
    &["reparieren", "reparatur"],
    &["geöffnet", "öffnungszeiten", "offen"],
    &["putzen", "reinigen", "reinigung"],
];

#[rustfmt::skip]
const CHINESE: &[&[&str]] = &[
    &["弄丢", "丢失", "遗失", "丢了"],
    &["聚会", "活动", "会议"],
    &["夏天", "夏季", "暑期"],
    &["冬天", "冬季", "寒假"],
    &["费用", "收费", "价格"],
    &["坏了", "故障", "损坏", "卡住"],
    &["退出", "关闭", "离开"],
    &["启动", "打开", "开启", "运行"],
    &["删除", "移除", "去掉"],
    &["保存", "存放", "存在", "放在"],
    &["修理", "维修", "修复"],
    &["清洁", "清洗", "打扫"],
    &["电话", "联系方式", "手机"],
    &["买", "购买", "采购"],
    &["设置", "配置", "设定"],
    &["报名", "申请", "加入"],
    &["归还", "退还"],
    &["逾期", "过期", "超期"],
    &["时间", "时候", "几点"],
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r17_a_kindred_word_stands_for_the_one_asked() {
        let set = |text: &str| terms(text).into_iter().collect::<HashSet<String>>();
        let held = set("The price of a hose");
        for (word, known) in [
            ("cost", true),
            ("price", true),
            ("hose", true),
            ("boss", false),
        ] {
            assert_eq!(holds(&held, &terms(word)[0]), known, "{word}");
        }
        let held = [set("遗失 按原价赔偿")];
        assert_eq!(in_known_words("弄丢了书呢？", &held), "遗失了书呢？");
        assert_eq!(in_known_words("遗失了书呢？", &held), "遗失了书呢？");
        assert_eq!(in_known_words("电话呢？", &held), "电话呢？");
    }
}
