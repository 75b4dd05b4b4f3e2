//! The words by which kinds of things are asked for and known; see [`super::sought`].

use super::sought::Sought;

pub(super) const CHOOSING: &[&str] = &[
    "can i choose",
    "can i use",
    "can i set",
    "can i select",
    "can it have",
    "are allowed",
    "are possible",
    "are available",
    "are supported",
    "to choose from",
    "are there",
    "gibt es",
];

pub(super) const ENGLISH: &[(Sought, &[&str])] = &[
    (
        Sought::Reason,
        &[
            "why",
            "what for",
            "how come",
            "reason for",
            "warum",
            "wieso",
            "weshalb",
        ],
    ),
    (
        Sought::Time,
        &[
            "when",
            "what time",
            "what date",
            "which day",
            "which days",
            "what day",
            "what days",
            "which year",
            "which month",
            "how long",
            "how often",
            "how soon",
            "how late",
            "how early",
            "deadline",
            "wann",
            "wie lange",
            "wie oft",
            "um wie viel uhr",
            "how quickly",
            "how fast",
        ],
    ),
    (
        Sought::Amount,
        &[
            "how many",
            "how much",
            "how big",
            "how large",
            "how far",
            "how heavy",
            "how high",
            "how deep",
            "wie viele",
            "wie viel",
            "wieviel",
            "wieviele",
            "wie groß",
            "wie hoch",
            "wie weit",
            "what temperature",
        ],
    ),
    (
        Sought::Place,
        &[
            "where",
            "which folder",
            "which room",
            "which city",
            "which directory",
            "what address",
            "wo",
            "wohin",
            "woher",
        ],
    ),
    (
        Sought::Person,
        &[
            "who",
            "whom",
            "whose",
            "which person",
            "wer",
            "wem",
            "wen",
            "wessen",
        ],
    ),
    (
        Sought::Way,
        &[
            "how do i",
            "how do we",
            "how do you",
            "how can i",
            "how can we",
            "how to",
            "how should i",
            "how would i",
            "how is it done",
            "what do i type",
            "which command",
            "what command",
            "wie kann ich",
            "wie mache ich",
            "wie kann man",
            "wie macht man",
            "how does one",
            "what do i do",
            "what to do",
        ],
    ),
];

pub(super) const CHINESE: &[(Sought, &[&str])] = &[
    (
        Sought::Money,
        &["多少钱", "价格", "费用", "价钱", "收费", "花了多少"],
    ),
    (Sought::Reason, &["为什么", "为何", "原因", "干嘛要"]),
    (
        Sought::Time,
        &[
            "什么时候",
            "何时",
            "几点",
            "哪天",
            "哪一天",
            "哪年",
            "多久",
            "几月",
            "几号",
            "多长时间",
            "星期几",
            "周几",
        ],
    ),
    (Sought::Place, &["哪里", "哪儿", "什么地方", "何处"]),
    (Sought::Person, &["谁", "哪位"]),
    (
        Sought::Amount,
        &[
            "多少", "几次", "几天", "几个", "几档", "几人", "几种", "多大", "多高",
        ],
    ),
    (Sought::Way, &["怎么", "怎样", "如何", "什么命令"]),
];

#[rustfmt::skip]
pub(super) const MONEY_WORDS: &[&str] = &[
    "cost", "costs", "price", "prices", "pay", "paid", "charge", "charged", "fee", "fees", "spend", "spent", "earn",
    "budget", "fine", "deposit", "refund", "salary", "expensive", "worth", "kostet", "kosten", "preis",
    "bezahlen", "zahle", "miete", "gebühr",
];

pub(super) const MONEY_UNITS: &[&str] = &[
    "eur", "euro", "euros", "usd", "dollar", "dollars", "chf", "gbp", "pound", "pounds", "cent",
    "cents", "franken",
];

pub(super) const MONEY_COLUMNS: &[&str] = &[
    "price", "cost", "costs", "fee", "amount", "total", "rent", "paid", "eur", "usd", "chf", "gbp",
    "euro", "charge", "preis", "kosten", "betrag", "miete", "gebühr", "sum", "budget", "salary",
    "价格", "费用", "金额",
];

pub(super) const NUMBERS: &[&str] = &[
    "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
    "twenty", "thirty", "forty", "fifty", "hundred", "thousand", "half", "dozen", "once", "twice",
    "one", "zwei", "drei", "vier", "fünf", "sechs", "sieben", "acht", "neun", "zehn", "none",
];

#[rustfmt::skip]
pub(super) const TIME_UNITS: &[&str] = &[
    "second", "seconds", "minute", "minutes", "hour", "hours", "day", "days", "week", "weeks", "month", "months",
    "year", "years", "am", "pm", "uhr", "tag", "tage", "tagen", "stunde", "stunden", "minuten", "woche", "wochen",
    "monat", "monate", "monaten", "jahr", "jahre", "jahren", "jan", "feb", "mar", "apr", "jun", "jul", "aug", "sep",
    "oct", "nov", "dec",
];

#[rustfmt::skip]
pub(super) const DATES: &[&str] = &[
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
    "december", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday", "mondays", "tuesdays",
    "wednesdays", "thursdays", "fridays", "saturdays", "sundays", "weekdays", "weekends", "daily", "weekly", "monthly",
    "yearly", "annually", "noon", "midnight", "morning", "evening", "januar", "februar", "märz", "mai", "juni", "juli",
    "oktober", "dezember", "montag", "dienstag", "mittwoch", "donnerstag", "freitag", "samstag", "sonntag", "täglich",
    "wöchentlich", "minutes", "hours", "days", "weeks", "months", "years", "spring", "summer", "autumn", "winter",
];

pub(super) const TIME_COLUMNS: &[&str] = &[
    "date", "day", "time", "when", "start", "end", "due", "deadline", "until", "from", "month",
    "year", "datum", "tag", "monat", "日期", "时间",
];

#[rustfmt::skip]
pub(super) const PLACES: &[&str] = &[
    "stored", "kept", "located", "lies", "stands", "hangs", "lives", "folder", "directory", "shelf", "drawer", "room",
    "cellar", "office", "street", "road", "building", "floor", "cupboard", "box", "shed", "beside", "behind",
    "under", "inside", "next", "near", "liegt", "steht", "hängt", "keller", "büro", "neben", "hinter", "unter",
];

pub(super) const PLACE_COLUMNS: &[&str] = &[
    "place", "location", "where", "address", "room", "shelf", "city", "country", "venue", "ort",
    "raum", "adresse", "地点", "位置", "地址",
];

#[rustfmt::skip]
pub(super) const PEOPLE: &[&str] = &[
    "chair", "treasurer", "secretary", "caretaker", "manager", "owner", "author", "editor", "director", "board",
    "committee", "team", "doctor", "dr", "mr", "mrs", "ms", "developer", "engineer", "person", "member", "members",
    "hauswart", "vorstand", "frau", "herr",
];

#[rustfmt::skip]
pub(super) const WAY_COLUMNS: &[&str] = &[
    "key", "keys", "command", "step", "remedy", "reaction", "solution", "fix", "action", "how", "befehl", "taste",
    "abhilfe", "办法", "处理办法", "命令",
];

pub(super) const PERSON_COLUMNS: &[&str] = &[
    "name",
    "person",
    "owner",
    "author",
    "assignee",
    "contact",
    "who",
    "responsible",
    "group",
    "team",
    "zuständig",
    "verantwortlich",
    "负责人",
    "姓名",
];

#[rustfmt::skip]
pub(super) const REASONS: &[&str] = &[
    "because", "since", "so that", "in order to", "reason", "reasons", "therefore", "otherwise", "to avoid", "due to",
    "as a result", "that is why", "would otherwise", "owing to", "thanks to", "weil", "damit", "denn", "deshalb",
    "daher", "sonst", "wegen", "caused by", "cause",
];

#[rustfmt::skip]
pub(super) const ORDERS: &[&str] = &[
    "add", "allow", "apply", "ask", "attach", "avoid", "bake", "book", "boil", "bring", "build", "buy", "call", "change",
    "check", "choose", "clean", "click", "close", "configure", "connect", "contact", "copy", "create", "cut", "delete",
    "disable", "do", "download", "dry", "edit", "enable", "enter", "export", "feed", "fill", "fold", "follow", "get",
    "give", "go", "hand", "hold", "import", "insert", "install", "keep", "leave", "let", "lift", "list", "log", "make",
    "measure", "mix", "move", "name", "open", "pass", "pick", "place", "pour", "press", "pull", "push", "put", "raise",
    "read", "rebuild", "remove", "rename", "repeat", "replace", "report", "reset", "restart", "restore", "rinse", "run",
    "save", "scan", "select", "send", "set", "sign", "start", "stir", "stop", "store", "switch", "take", "tap", "tell",
    "test", "tick", "transfer", "try", "turn", "type", "unplug", "update", "upload", "use", "wait", "wash", "wear",
    "wipe", "write",
];
