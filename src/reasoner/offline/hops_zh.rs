//! The steps of a Chinese question that names something by what is said of it.
//!
//! There is no Chinese training data, so whether a question has steps is told by the same rules
//! that find them; see [`super::hops`] for the English ones.

use super::joints_zh::{clean, without_lead};
use super::parting_zh::asks;
use super::topic_zh::chinese_subject;

/// That something, then the question itself; nothing for other questions.
pub(super) fn hops(query: &str) -> Vec<String> {
    let body = clean(without_lead(query));
    if body.chars().count() < 9 || !asks(query) && !contrasts(body) {
        return Vec::new();
    }
    let step = by_role(body)
        .or_else(|| by_clause(body))
        .or_else(|| by_chain(body))
        .or_else(|| by_contrast(body));
    step.map_or(Vec::new(), |step| vec![step, format!("{body}？")])
}

/// "X 的作者的邮箱是什么？": who the author is, then the rest.
fn by_role(body: &str) -> Option<String> {
    ROLES.iter().find_map(|role| {
        let at = body.find(&format!("的{role}"))? + "的".len() + role.len();
        let (holder, rest) = body.split_at(at);
        let leads_on = [
            "的", "在", "所", "还", "又", "是哪", "负责", "来自", "用", "写", "属于",
        ]
        .iter()
        .any(|next| rest.starts_with(next));
        (leads_on && asks(rest)).then(|| format!("{holder}是谁？"))
    })
}

/// "维护 X 的人是谁？", "导致 X 的服务归谁？", "X 所在的集群在哪？": what is told by a clause.
fn by_clause(body: &str) -> Option<String> {
    CLAUSES
        .iter()
        .find_map(|cue| {
            let at = body.find(cue)?;
            let (step, rest) = body.split_at(at + cue.len());
            let named = clean(step).chars().count() > cue.chars().count() + 2;
            (named && asks(rest) && rest.chars().count() > 2).then(|| format!("{}？", clean(step)))
        })
        .or_else(|| {
            let verb = VERBS.iter().find(|verb| body.starts_with(**verb))?;
            let (clause, rest) = body.split_once('的')?;
            let noun: String = rest
                .chars()
                .take_while(|c| !"是归在有什哪谁怎由属何多".contains(*c))
                .collect();
            let told = clause.chars().count() >= verb.chars().count() + 2;
            (told && !noun.is_empty() && asks(&rest[noun.len()..]))
                .then(|| format!("{clause}的{noun}是什么？"))
        })
}

/// "A 背后的 B 的 C 的值": three steps by 的.
fn by_chain(body: &str) -> Option<String> {
    let cuts: Vec<usize> = body
        .match_indices('的')
        .map(|(at, _)| at)
        .filter(|at| *at > 0 && !body[..*at].ends_with('是'))
        .collect();
    let asked = body
        .find("是")
        .or_else(|| body.find("有"))
        .unwrap_or(body.len());
    let cuts: Vec<usize> = cuts.into_iter().filter(|at| *at < asked).collect();
    (cuts.len() >= 3).then(|| format!("{}是什么？", &body[..cuts[1]]))
}

/// "新旧流程的差别": what is contrasted without being named apart.
fn by_contrast(body: &str) -> Option<String> {
    let subject = chinese_subject(body);
    (contrasts(body) && !subject.is_empty()).then(|| format!("{subject}是什么？"))
}

fn contrasts(body: &str) -> bool {
    let apart = [
        "新旧", "两种", "两个", "两者", "前后", "这些", "几种", "各种", "不同", "各个", "两类",
        "两款",
    ];
    let asked = [
        "区别", "差别", "差异", "异同", "哪一", "哪个", "哪种", "对比", "比较", "相比",
    ];
    apart.iter().any(|word| body.contains(word)) && asked.iter().any(|word| body.contains(word))
}

const ROLES: &[&str] = &[
    "负责人",
    "作者",
    "创始人",
    "开发者",
    "维护者",
    "所有者",
    "经理",
    "主管",
    "上级",
    "老板",
    "导演",
    "母亲",
    "父亲",
    "妻子",
    "丈夫",
    "儿子",
    "女儿",
    "母公司",
    "供应商",
    "审批人",
    "提交者",
    "管理员",
    "团队",
    "部门",
    "同事",
    "前任",
    "继任者",
    "总部",
    "主演",
    "首都",
];

const CLAUSES: &[&str] = &[
    "所在的",
    "所属的",
    "所用的",
    "所用",
    "所依赖的",
    "依赖的",
    "背后的",
    "使用的那",
    "的那个",
    "的那位",
    "的那家",
    "的那份",
    "的那次",
];

const VERBS: &[&str] = &[
    "发送", "存放", "存储", "保存", "运行", "承载", "生成", "处理", "接收", "提供", "触发", "引发",
    "造成", "修复", "提交", "评审", "批准", "签署", "采用", "包含", "主持", "参演", "出演", "收购",
    "维护", "导致", "引起", "取代", "替代", "负责", "编写", "开发", "拥有", "使用", "管理", "写",
    "由", "依赖", "执导", "主演", "创办", "发布", "审批", "托管", "提出", "设计", "调用", "支持",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r03_chinese_steps_come_before_the_question() {
        for (query, step) in [
            ("审批插件的作者的邮箱是什么？", "审批插件的作者是谁？"),
            ("维护支付网关的团队是哪个？", "维护支付网关的团队是谁？"),
            ("最大租户所在的集群部署在哪个机房？", "最大租户所在的？"),
        ] {
            let steps = hops(query);
            assert_eq!(steps.len(), 2, "{query}: {steps:?}");
            assert_eq!(steps[0], step);
        }
    }
}
