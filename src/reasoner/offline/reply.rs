//! Replies to small talk, from templates (R24): friendly, and plain about what answers here.

use crate::text::is_chinese;

use super::social::Social;

/// A reply in the language of the message.
pub(super) fn reply(kind: Social, message: &str) -> String {
    let [english, chinese] = match kind {
        Social::Greeting => [
            "Hello! I am kb-agent's offline engine. Ask me about anything in your knowledge base.",
            "你好！我是 kb-agent 的离线引擎。关于知识库的任何问题都可以问我。",
        ],
        Social::Thanks => [
            "You're welcome! Ask away if there is more to look up.",
            "不客气！还有想查的，随时问我。",
        ],
        Social::Goodbye => [
            "Goodbye! Your knowledge base and I will be here.",
            "再见！需要时我和知识库都在。",
        ],
        Social::Identity => [
            "I am kb-agent's offline engine: no language model and no network, just rules, a small \
             embedding and your documents. I find passages and quote them with their sources.",
            "我是 kb-agent 的离线引擎：没有语言模型，也不联网，只靠规则、一个小型向量模型和你的文档。我会找出相关段落，并注明出处。",
        ],
        Social::Abilities => [
            "I am the offline engine. I search your knowledge base by meaning and by words, read \
             named files, follow links between documents and ids, compare things, and answer with \
             quotations and their sources. I do not make anything up.",
            "我是离线引擎。我能按语义和关键词检索知识库、读取指定文件、查找文档和编号之间的关联、做比较，并用带出处的原文回答。我不会编造内容。",
        ],
        Social::Wellbeing => [
            "All well here, thank you! I am the offline engine, so I am never tired. What shall we \
             look up?",
            "我很好，谢谢！我是离线引擎，从不疲倦。想查点什么？",
        ],
        Social::Joke => [
            "Why did the query skip grading? It took the fast path. (I am the offline engine: \
             looking things up is what I do better.)",
            "为什么这个问题不用评分？因为它走了快速路径。（我是离线引擎，更擅长查资料。）",
        ],
        Social::Other => [
            "I am only the offline engine, so I keep small talk short. Ask me about anything in \
             your knowledge base.",
            "我只是离线引擎，不太会闲聊。关于知识库的任何问题都可以问我。",
        ],
    };
    if is_chinese(message) {
        chinese
    } else {
        english
    }
    .to_owned()
}
