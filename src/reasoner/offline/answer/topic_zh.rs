//! What a Chinese question is about: its words of the question form taken away.

/// The longest piece that remains.
pub(super) fn chinese_topic(question: &str) -> String {
    pieces(question)
        .iter()
        .max_by_key(|piece| piece.chars().count())
        .map(|piece| piece.trim_matches(EDGES).to_owned())
        .unwrap_or_default()
}

/// "存放在哪里" asks where as "在哪里" does: the verb is part of the form.
pub(super) fn without_place(question: &str) -> String {
    let mut plain = question.to_owned();
    for verb in ["存放", "保存", "存储", "储存", "存", "放", "位于", "记录"] {
        plain = plain.replace(&format!("{verb}在哪"), "在哪");
    }
    plain
}

const EDGES: [char; 7] = ['的', '，', '“', '”', '？', '?', '。'];

fn pieces(question: &str) -> Vec<String> {
    let mut rest = without_place(question);
    for form in CHINESE_FORMS {
        rest = rest.replace(form, " ");
    }
    rest.split_whitespace().map(str::to_owned).collect()
}

const CHINESE_FORMS: &[&str] = &[
    "请问",
    "为什么",
    "分别叫什么名字",
    "叫什么名字",
    "分别叫什么",
    "叫什么",
    "分别是",
    "分别",
    "什么是",
    "是什么意思",
    "是什么",
    "有什么",
    "什么",
    "怎么样",
    "怎么",
    "怎样",
    "如何",
    "在哪里",
    "在哪儿",
    "有哪些",
    "哪些",
    "有哪几种",
    "哪几种",
    "几种",
    "几个",
    "哪个",
    "多少",
    "是关于",
    "介绍一下",
    "解释一下",
    "告诉我",
    "解释",
    "介绍",
    "吗",
    "呢",
    "了",
    "，",
    "是",
    "有",
    "会",
    "工作",
    "使用",
    "设置",
    "做",
];
