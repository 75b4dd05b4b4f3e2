//! Where a Chinese question joins two things; see [`super::parting_zh`].

/// What two things are joined by.
const JOINTS: &[&str] = &[
    "以及",
    "相对于",
    "相较于",
    "对比",
    "相比",
    "和",
    "与",
    "跟",
    "同",
    "及",
    "、",
    "vs",
    "VS",
];

/// Words that hold a joint and join nothing.
#[rustfmt::skip]
const WORDS: &[&str] = &[
    "合同", "同步", "不同", "同时", "相同", "共同", "同一", "异同", "同样", "协同", "同事", "同意", "陪同", "同上", "认同",
    "跟踪", "跟进", "跟随", "跟上", "参与", "与否", "赠与", "授与", "与其", "和谐", "温和", "总和", "饱和", "和平", "缓和",
    "以及", "及时", "涉及", "普及", "及格", "提及", "触及", "危及", "顾及", "不及", "及其", "同比", "哈希和", "校验和",
];

/// What stands before and behind the first joint.
pub(super) fn find_joint(text: &str) -> Option<(&str, &str)> {
    JOINTS
        .iter()
        .filter_map(|joint| {
            let joins = |at: &usize| {
                *at > 0
                    && (joint.len() > 3
                        || !WORDS.iter().any(|word| {
                            word.match_indices(joint).any(|(inside, _)| {
                                at.checked_sub(inside)
                                    .and_then(|from| text.get(from..))
                                    .is_some_and(|rest| rest.starts_with(word))
                            })
                        }))
            };
            let at = text.match_indices(joint).map(|(at, _)| at).find(joins)?;
            Some((at, *joint))
        })
        .min_by_key(|(at, _)| *at)
        .map(|(at, joint)| (&text[..at], &text[at + joint.len()..]))
}

/// The question without its greeting and its words of asking.
pub(super) fn without_lead(query: &str) -> &str {
    let mut body = query.trim();
    loop {
        let before = body;
        for lead in LEADS {
            body = body
                .strip_prefix(lead)
                .unwrap_or(body)
                .trim_start_matches([' ', '，', ',', '！', '!', '。', '：']);
        }
        if body == before {
            return body;
        }
    }
}

#[rustfmt::skip]
const LEADS: &[&str] = &[
    "你好", "您好", "谢谢你", "谢谢", "好的", "那么", "那", "请问一下", "请问", "请你", "请", "帮我", "能不能", "可以", "我想知道", "我想了解", "比较一下", "对比一下", "比较",
    "对比", "解释一下", "解释", "介绍一下", "介绍", "说明一下", "说明", "列出", "总结一下", "总结", "描述", "什么是", "分析一下", "分析",
    "简述",
];

/// "个人令牌高吗" is about "个人令牌".
pub(super) fn cut_before_adjective(text: &str) -> &str {
    let text = clean(text);
    let end = ADJECTIVES
        .iter()
        .filter_map(|adjective| text.find(adjective))
        .filter(|at| *at > 0)
        .min();
    &text[..end.unwrap_or(text.len())]
}

#[rustfmt::skip]
const ADJECTIVES: &[&str] = &[
    "更", "还要", "高吗", "低吗", "快吗", "慢吗", "大吗", "小吗", "多吗", "少吗", "好吗", "贵吗", "早吗", "晚吗", "长吗", "短吗",
    "强吗", "好在", "快多少", "高多少", "贵多少", "多多少", "少多少", "大多少", "快在", "强在", "差在", "便宜", "安全吗", "稳定吗",
    "有哪些优", "有什么优", "有何优", "有什么好", "有哪些好",
];

/// Without signs and blanks around it.
pub(super) fn clean(text: &str) -> &str {
    text.trim_matches(|c: char| c.is_whitespace() || "，。？！、；：,?!“”".contains(c))
}
