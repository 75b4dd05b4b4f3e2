//! Words of other scripts and languages than English, over a real index.

use kb_agent::kb::{KnowledgeBase, SearchMode};

use crate::kb::Bench;

/// The documents that hold words of the query, best first.
fn found(base: &KnowledgeBase, query: &str) -> Vec<String> {
    let hits = base.search(SearchMode::Lexical, query, 10).unwrap();
    hits.into_iter().map(|hit| hit.source).collect()
}

/// Holds a base of these documents to what each query finds there first.
fn each_is_found(documents: &[(&str, &str)], queries: &[(&str, &str)]) {
    let bench = Bench::new(documents);
    let base = bench.indexed();
    for (query, source) in queries {
        let found = found(&base, query);
        assert_eq!(found.first().map(String::as_str), Some(*source), "{query}");
    }
}

/// Holds a base of these documents to the queries that find nothing there.
fn none_is_found(documents: &[(&str, &str)], queries: &[&str]) {
    let bench = Bench::new(documents);
    let base = bench.indexed();
    for query in queries {
        assert_eq!(found(&base, query), [""; 0], "{query}");
    }
}

#[test]
fn r12_arabic_is_found_without_its_signs_and_with_its_letters_exchanged() {
    let documents = [
        ("name.md", "مُحَمَّد أحمد\n"),
        ("school.md", "المدرسة الكبيرة\n"),
        ("plain.md", "على المستشفى\n"),
        ("wide.md", "كتــــاب جديد\n"),
        ("year.md", "سنة ٢٠٢٤\n"),
        ("persian.md", "زبان فارسی و کتابخانه\n"),
    ];
    each_is_found(
        &documents,
        &[
            ("محمد", "name.md"),
            ("مُحمّد", "name.md"),
            ("محـمد", "name.md"),
            ("احمد", "name.md"),
            ("المدرسه", "school.md"),
            ("المستشفي", "plain.md"),
            ("كتاب", "wide.md"),
            ("2024", "year.md"),
            ("فارسي", "persian.md"),
            ("كتابخانه", "persian.md"),
        ],
    );
}

#[test]
fn r12_hebrew_is_found_without_its_points_and_with_either_mark_of_an_abbreviation() {
    let documents = [
        ("bible.md", "בְּרֵאשִׁ֖ית בָּרָ֣א אֱלֹהִ֑ים\n"),
        ("army.md", "צה״ל וארה\"ב\n"),
        ("zoo.md", "ג׳ירפה בגן\n"),
        ("school.md", "בית־ספר\n"),
        ("paper.md", "כתב ב\"הארץ\" היום\n"),
    ];
    each_is_found(
        &documents,
        &[
            ("בראשית", "bible.md"),
            ("בָּרָא", "bible.md"),
            ("צה\"ל", "army.md"),
            ("צהל", "army.md"),
            ("וארה״ב", "army.md"),
            ("ג'ירפה", "zoo.md"),
            ("ספר", "school.md"),
            ("הארץ", "paper.md"),
        ],
    );
}

#[test]
fn r12_an_emoji_is_a_word_however_it_is_drawn() {
    let documents = [
        ("fire.md", "Release day 🔥🔥\n"),
        ("heart.md", "We ❤\u{fe0f} this\n"),
        ("thumb.md", "Agreed 👍🏽\n"),
        ("coder.md", "Written by 👩\u{200d}💻\n"),
        ("flag.md", "Shipped to 🇫🇷 first\n"),
        ("other.md", "Shipped to 🇷🇫 next, © 2024 → end\n"),
        ("🎂.md", "Nothing but a name\n"),
    ];
    each_is_found(
        &documents,
        &[
            ("🔥", "fire.md"),
            ("❤", "heart.md"),
            ("❤\u{fe0f}", "heart.md"),
            ("👍", "thumb.md"),
            ("👍🏿", "thumb.md"),
            ("👩\u{200d}💻", "coder.md"),
            ("💻", "coder.md"),
            ("🇫🇷", "flag.md"),
            ("🎂", "🎂.md"),
        ],
    );
    none_is_found(&documents, &["🚀", "→", "©"]);
}

#[test]
fn r12_a_word_is_found_behind_an_elided_article() {
    let documents = [
        (
            "water.md",
            "L'eau de la rivière. C’est l’été qu’il préfère.\n",
        ),
        ("tree.md", "À l’ombre d’une forêt, jusqu'aux racines.\n"),
        ("rain.md", "La qualità dell'acqua e un’altra pioggia.\n"),
        ("home.md", "L'home va obrir l’escola.\n"),
        ("part.md", "Section L and part D.\n"),
    ];
    each_is_found(
        &documents,
        &[
            ("eau", "water.md"),
            ("l’eau", "water.md"),
            ("l\u{2bc}eau", "water.md"),
            ("été", "water.md"),
            ("une forêt", "tree.md"),
            ("d'une", "tree.md"),
            ("acqua", "rain.md"),
            ("all’acqua", "rain.md"),
            ("d'altra", "rain.md"),
            ("escola", "home.md"),
        ],
    );
    // The article itself is no word to look for.
    none_is_found(&documents[..1], &["l", "qu"]);
}

#[test]
fn r12_scripts_without_spaces_are_found_by_their_words() {
    let documents = [
        ("th.md", "ประเทศไทยมีเมืองหลวงชื่อกรุงเทพมหานคร\n"),
        ("lo.md", "ປະເທດລາວມີນະຄອນຫຼວງວຽງຈັນ\n"),
        ("km.md", "ប្រទេសកម្ពុជាមានរាជធានីភ្នំពេញ\n"),
        ("my.md", "မြန်မာနိုင်ငံ၏မြို့တော်သည်နေပြည်တော်ဖြစ်သည်\n"),
        ("ja.md", "東京タワーはとうきょうのランドマークです\n"),
        ("ko.md", "서울에서 도서관을 찾았다. 학교는 크다.\n"),
        ("ko2.md", "부산으로 여행을 갔다.\n"),
    ];
    each_is_found(
        &documents,
        &[
            ("เมืองหลวง", "th.md"),
            ("กรุงเทพ", "th.md"),
            ("ວຽງຈັນ", "lo.md"),
            ("ភ្នំពេញ", "km.md"),
            ("နေပြည်တော်", "my.md"),
            ("ランドマーク", "ja.md"),
            ("とうきょう", "ja.md"),
            ("서울", "ko.md"),
            ("서울의", "ko.md"),
            ("도서관", "ko.md"),
            ("학교에서", "ko.md"),
            ("부산", "ko2.md"),
            ("여행은", "ko2.md"),
        ],
    );
}

#[test]
fn r12_a_word_with_an_umlaut_is_found_spelt_out_and_the_other_way_about() {
    let documents = [
        ("contact.md", "Ansprechpartner: Jürgen Müller, Löhningen\n"),
        // With this spelling in the base, no slip is corrected.
        ("other.md", "Another Mueller, whose Juergen wrote.\n"),
        ("change.md", "Änderung der Straße\n"),
        ("spelt.md", "Aenderungen der Gebuehr\n"),
        ("north.md", "Århus og Tromsø\n"),
        (
            "english.md",
            "The poet does queue for the aerosol, the bauer said.\n",
        ),
        ("short.md", "The pot is auto.\n"),
    ];
    let bench = Bench::new(&documents);
    let base = bench.indexed();
    for (query, sources) in [
        ("Mueller", ["contact.md", "other.md"].as_slice()),
        ("Müller", &["contact.md", "other.md"]),
        ("Mu\u{308}ller", &["contact.md", "other.md"]),
        ("Muller", &["contact.md"]),
        ("MÜLLER", &["contact.md", "other.md"]),
        ("Loehningen", &["contact.md"]),
        ("Löhningen", &["contact.md"]),
        ("Aenderung", &["change.md"]),
        ("Änderungen", &["spelt.md"]),
        ("Strasse", &["change.md"]),
        ("Gebühr", &["spelt.md"]),
        ("Aarhus", &["north.md"]),
        ("Tromsoe", &["north.md"]),
        ("poet", &["english.md"]),
        ("queue", &["english.md"]),
        ("aerosol", &["english.md"]),
        ("pot", &["short.md"]),
    ] {
        let mut found = found(&base, query);
        found.sort();
        assert_eq!(found, sources, "{query}");
    }
}

#[test]
fn r12_a_document_is_found_by_other_forms_of_its_words() {
    let documents = table![
        "de.md",
            "# Altstadt\n\nDie Häuser der Altstadt wurden nach dem Krieg mit viel Geduld wieder aufgebaut.\n";
        "fr.md",
            "# Élevage\n\nLes chevaux de la ferme voisine sont nourris deux fois par jour avec du foin.\n";
        "es.md",
            "# Fiesta\n\nLas canciones del pueblo fueron escritas por los abuelos hace muchos años.\n";
        "ru.md",
            "# Библиотека\n\nВ старых книгах написано о городах, которые давно исчезли с карты.\n";
        "ar.md", "# المكتبة\n\nقرأ الطلاب الكتاب في المدرسة ثم كتبوا عنه مقالات قصيرة للمعلم.\n";
        "el.md",
            "# Γειτονιά\n\nΟι γάτες της γειτονιάς κοιμούνται στις αυλές όταν έχει ζέστη το μεσημέρι.\n";
        "tr.md",
            "# Okul\n\nÖğrenciler okulun bahçesinde kitaplarını okudular ve öğretmenlerine sorular sordular.\n";
        "hi.md",
            "# पुस्तकालय\n\nविद्यार्थियों ने पुस्तकालय में बहुत सारी किताबें पढ़ीं और शिक्षक से सवाल पूछे।\n";
        "en.md",
            "# House\n\nThe houses of the old town are built of stone, and this is what the guide says.\n";
    ];
    each_is_found(
        &documents,
        &[
            ("Haus", "de.md"),
            ("des Hauses", "de.md"),
            ("geduldig", "de.md"),
            ("cheval", "fr.md"),
            ("canción", "es.md"),
            ("cancion", "es.md"),
            ("город", "ru.md"),
            ("книга", "ru.md"),
            ("كتاب", "ar.md"),
            ("طلاب", "ar.md"),
            ("γάτα", "el.md"),
            ("kitap", "tr.md"),
            ("किताब", "hi.md"),
            ("housing", "en.md"),
        ],
    );
    // In a base of English only, no other language's stems are looked for.
    none_is_found(&documents[8..], &["Führer", "viejo", "книга"]);
}
