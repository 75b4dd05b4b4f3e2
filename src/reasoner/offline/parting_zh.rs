//! The ways in which a Chinese question can be parted; see [`super::decompose`].

use super::joints_zh::{clean, cut_before_adjective, find_joint, without_lead};
use super::resolve::topic_of;

/// The parts, when there is more than one intent.
pub(super) fn parts(query: &str) -> Option<Vec<String>> {
    let compared = query.contains("相比");
    choice(query)
        .or_else(|| compared.then(|| comparison(query))?)
        .or_else(|| listed(query))
        .or_else(|| comparison(query))
        .or_else(|| clauses(query))
        .or_else(|| shared(query))
}

/// What compares two things.
const COMPARING: &[&str] = &[
    "比较",
    "对比",
    "区别",
    "差异",
    "不同",
    "异同",
    "差别",
    "相比",
    "分别",
    "优缺点",
    "不一样",
    "一样",
    "相同",
    "同一",
    "共同点",
    "利弊",
    "优劣",
    "优势",
    "之间",
    "有何关系",
    "什么关系",
    "变化",
    "vs",
    "VS",
    "各有",
    "各自",
];

/// What follows the second thing.
const TAILS: &[&str] = &[
    "的架构",
    "的主要",
    "之间",
    "的区别",
    "的差异",
    "的不同",
    "的异同",
    "的差别",
    "的关系",
    "的优缺点",
    "的共同",
    "有什么",
    "有何",
    "有哪些",
    "哪个",
    "哪一个",
    "相比",
    "区别",
    "差异",
    "不同",
    "异同",
    "差别",
    "分别",
    "各",
    "一样",
    "是不是",
    "是否",
    "是同",
    "用的",
    "使用",
    "不一样",
    "相同",
    "是什么",
    "，",
    "？",
    "?",
    "。",
    "的",
];

fn comparison(query: &str) -> Option<Vec<String>> {
    let body = without_lead(query);
    let cued = COMPARING.iter().any(|cue| query.contains(cue));
    let (a, rest) = match find_joint(body).filter(|_| cued) {
        Some(found) => found,
        None => more_than(body)?,
    };
    let end = TAILS
        .iter()
        .filter_map(|tail| rest.find(tail))
        .filter(|at| *at > 0)
        .min()
        .unwrap_or(rest.len());
    let (a, b) = (clean(a), clean(cut_before_adjective(&rest[..end])));
    if a.is_empty() || b.is_empty() {
        return None;
    }
    let respect = respect(&rest[end..]);
    Some([a, b].map(|name| format!("{name}{respect}？")).to_vec())
}

/// In which respect two things are compared, "，写作的方式有什么不同": what is asked of each.
fn respect(behind: &str) -> String {
    let mut rest = behind.to_owned();
    for form in COMPARING.iter().chain(RESPECTLESS) {
        rest = rest.replace(form, "");
    }
    let rest = clean(&rest);
    if rest.chars().count() < 2 {
        return "是什么".to_owned();
    }
    let of = if behind.starts_with(['，', ',']) || asks(rest) {
        ""
    } else {
        "的"
    };
    format!("{of}{rest}")
}

/// What says of a comparison only that it is one.
#[rustfmt::skip]
const RESPECTLESS: &[&str] = &[
    "有什么", "有何", "有哪些", "是什么", "什么", "在哪里", "在哪", "哪里", "主要", "怎么", "的", "，", "？", "?", "。", "吗",
    "呢", "各", "关系", "架构", "请", "说明", "一下",
];

/// "A 比 B 快吗": what stands around 比, where more or less is asked.
fn more_than(body: &str) -> Option<(&str, &str)> {
    let at = body.match_indices('比').map(|(at, _)| at).find(|at| {
        let around = |word: &str| {
            body[..at + '比'.len_utf8()].ends_with(word) || body[*at..].starts_with(word)
        };
        *at > 0
            && ![
                "比较",
                "比例",
                "比如",
                "比率",
                "比重",
                "比特",
                "对比",
                "相比",
                "占比",
                "百分比",
            ]
            .iter()
            .any(|word| around(word))
    })?;
    let (a, rest) = (&body[..at], &body[at + '比'.len_utf8()..]);
    (cut_before_adjective(rest).len() < clean(rest).len() && asks(rest)).then_some((a, rest))
}

/// "用 A 还是用 B？": the question with each of them.
fn choice(query: &str) -> Option<Vec<String>> {
    let body = without_lead(query);
    let (head, b) = body.split_once("还是")?;
    let (head, b) = (clean(head), clean(b.trim_end_matches(['呢', '？', '?'])));
    let b_bare = ["使用", "选择", "用", "选", "在", "是", "应该"]
        .iter()
        .find_map(|verb| b.strip_prefix(verb));
    if head.is_empty() || b.is_empty() || head.chars().count() > 40 {
        return None;
    }
    let verb_at = ["使用", "选择", "用", "选", "应该", "是", "，"]
        .iter()
        .filter_map(|verb| head.rfind(verb).map(|at| at + verb.len()))
        .max();
    let lead = verb_at.map_or("", |at| &head[..at]);
    let b = b_bare.unwrap_or(b).trim_start();
    let space = if lead.is_empty() || !b.starts_with(|c: char| c.is_ascii()) {
        ""
    } else {
        " "
    };
    Some(vec![format!("{head}？"), format!("{lead}{space}{b}？")])
}

const ORDERS: &[&str] = &[
    "解释",
    "介绍",
    "说明",
    "列出",
    "总结",
    "描述",
    "分析",
    "简述",
    "什么是",
];

/// "A、B 和 C 分别是什么", "解释 A 和 B".
fn listed(query: &str) -> Option<Vec<String>> {
    let body = clean(without_lead(query));
    let ordered = ORDERS.iter().any(|order| query.contains(order))
        && !COMPARING.iter().any(|cue| query.contains(cue));
    let end = [
        "分别",
        "各",
        "是什么",
        "都是什么",
        "有哪些",
        "有什么",
        "的区别",
        "的不同",
        "的差异",
        "之间",
    ]
    .iter()
    .filter_map(|tail| body.find(tail))
    .min();
    let row_end = ["是", "怎", "如何", "有", "的", "在"]
        .iter()
        .filter_map(|word| {
            let from = body.rfind('、')?;
            body[from..].find(word).map(|at| from + at)
        });
    let end = end.or(row_end.min());
    let (names, tail) = body.split_at(end.unwrap_or(body.len()));
    let (head, last) = find_joint(names)?;
    let names: Vec<&str> = head
        .split('、')
        .chain(last.split('、'))
        .flat_map(|name| match find_joint(name) {
            Some((a, b)) => vec![a, b],
            None => vec![name],
        })
        .map(clean)
        .collect();
    let are_things = names.iter().all(|name| {
        !name.is_empty()
            && !name.contains('，')
            && name.chars().count() <= 14
            && !asks(name)
            && (ordered || !name.contains('的'))
    });
    let asked = tail.starts_with("分别") || tail.starts_with("各") || tail.contains("是什么");
    (are_things && (asked || ordered && end.is_none() || names.len() > 2))
        .then(|| names.iter().map(|name| format!("{name}是什么？")).collect())
}

/// "A 和 B 的端口是多少？": the same of each.
fn shared(query: &str) -> Option<Vec<String>> {
    let body = clean(without_lead(query));
    let (subjects, rest) = body.split_once('的')?;
    let (a, b) = find_joint(subjects)?;
    let (a, b) = (clean(a), clean(b));
    let short = |name: &str| (2..=12).contains(&name.chars().count()) && !asks(name);
    (short(a) && short(b) && asks(rest))
        .then(|| vec![format!("{a}的{rest}？"), format!("{b}的{rest}？")])
}

/// Cut where a new question begins; what then lacks a subject gets that of the first.
fn clauses(query: &str) -> Option<Vec<String>> {
    let mut pieces: Vec<&str> = query
        .split(['？', '?', '；', ';', '\n'])
        .flat_map(|piece| {
            split_before(
                piece,
                &[
                    "以及",
                    "并且",
                    "而且",
                    "还有",
                    "然后",
                    "另外",
                    "同时",
                    "此外",
                    "又是",
                    "再说明",
                    "并说明",
                    "并解释",
                ],
            )
        })
        .flat_map(|piece| piece.split(['，', ',']))
        .map(clean)
        .filter(|piece| !piece.is_empty())
        .collect();
    let ordered = query.contains("并且") || query.contains("然后");
    pieces
        .retain(|piece| asks(piece) || ordered && piece.chars().count() > 3 && !is_courtesy(piece));
    let (first, others) = pieces.split_first()?;
    if others.is_empty() || !pieces.iter().any(|piece| asks(piece)) {
        return None;
    }
    let topic = topic_of(first);
    let mut parts = vec![format!("{first}？")];
    let how = ["怎样", "怎么", "如何"]
        .iter()
        .find(|how| first.contains(**how));
    for piece in others {
        if let (Some(how), false) = (how, asks(piece)) {
            parts.push(format!("{how}{piece}？"));
            continue;
        }
        let piece = piece
            .trim_start_matches("它们")
            .trim_start_matches('它')
            .trim_start_matches('其');
        // "允许的范围呢" hangs on what was asked before it.
        let hangs = piece.strip_suffix('呢').is_some_and(|rest| !asks(rest));
        let alone = topic_of(piece).chars().count() >= 3 && !hangs;
        parts.push(if alone || topic.is_empty() {
            format!("{piece}？")
        } else {
            format!("{topic}{piece}？")
        });
    }
    Some(parts)
}

fn is_courtesy(piece: &str) -> bool {
    ["你好", "您好", "请问", "谢谢", "好的", "麻烦"]
        .iter()
        .any(|word| piece.starts_with(word))
}

fn split_before<'a>(text: &'a str, joints: &[&str]) -> Vec<&'a str> {
    let mut found = vec![text];
    for joint in joints {
        let last = found[found.len() - 1];
        if let Some((head, tail)) = last.split_once(joint)
            && clean(tail).chars().count() > 2
            && !clean(head).is_empty()
        {
            found.pop();
            found.extend([head, tail]);
        }
    }
    // Only a tail that asks is a question of its own, or one more deed.
    let deed = ["并且", "然后"].iter().any(|joint| text.contains(joint));
    if deed || found[1..].iter().any(|tail| asks(tail)) {
        found
    } else {
        vec![text]
    }
}

pub(super) fn asks(text: &str) -> bool {
    [
        "什么",
        "怎么",
        "怎样",
        "如何",
        "为何",
        "哪",
        "几",
        "多少",
        "多久",
        "多长",
        "多大",
        "是否",
        "吗",
        "谁",
        "能不能",
        "呢",
        "何时",
        "解释",
        "说明",
        "列出",
        "是不是",
        "有没有",
        "可不可以",
    ]
    .iter()
    .any(|word| text.contains(word))
}

#[cfg(test)]
mod tests {
    use super::super::hops_zh::hops;
    use super::*;

    #[test]
    fn r03_chinese_questions_are_parted() {
        for (query, expected) in [
            (
                "对比一下基础版与企业版",
                vec!["基础版是什么？", "企业版是什么？"],
            ),
            (
                "合同和发票有什么不一样？",
                vec!["合同是什么？", "发票是什么？"],
            ),
            (
                "同步任务比异步任务快吗？",
                vec!["同步任务是什么？", "异步任务是什么？"],
            ),
            (
                "导入用接口还是用命令行？",
                vec!["导入用接口？", "导入用命令行？"],
            ),
            (
                "消息推送应该选 webhook 还是轮询",
                vec!["消息推送应该选 webhook？", "消息推送应该选轮询？"],
            ),
            (
                "租户、角色和权限分别是什么？",
                vec!["租户是什么？", "角色是什么？", "权限是什么？"],
            ),
            ("请解释分片和副本", vec!["分片是什么？", "副本是什么？"]),
            (
                "网关和代理的端口是多少？",
                vec!["网关的端口是多少？", "代理的端口是多少？"],
            ),
            (
                "怎样新建看板并且邀请成员",
                vec!["怎样新建看板？", "怎样邀请成员？"],
            ),
            (
                "重试、超时和熔断是怎么配合的",
                vec!["重试是什么？", "超时是什么？", "熔断是什么？"],
            ),
            (
                "怎么导出报表，以及怎么注销账号？",
                vec!["怎么导出报表？", "怎么注销账号？"],
            ),
        ] {
            assert_eq!(parts(query).unwrap_or_default(), expected, "{query}");
        }
    }

    #[test]
    fn r03_what_only_looks_like_several_is_one() {
        for query in [
            "如何同步合同？",
            "参与者有哪些权限？",
            "缓存的占比是多少？",
            "你好，怎么重置密码？",
            "谢谢，那上限呢？",
            "搜索和替换怎么用",
            "比例尺怎么设置",
            "请问证书过期了怎么办？",
            "",
            "？",
            "还是",
        ] {
            assert_eq!(parts(query), None, "{query}");
            assert!(hops(query).is_empty(), "{query}: {:?}", hops(query));
        }
    }
}
