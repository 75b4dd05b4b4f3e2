//! Text that behaves like text: words as frequent as words are, sentences, paragraphs, sections.

/// Numbers that are the same in every run.
pub struct Seeded(u64);

impl Seeded {
    pub fn new(seed: u64) -> Self {
        Self(seed ^ 0x9E37_79B9_7F4A_7C15)
    }

    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    pub fn below(&mut self, bound: usize) -> usize {
        (self.next() >> 11) as usize % bound
    }

    fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// Words whose frequency falls with their rank, as Zipf found.
pub struct Vocabulary {
    words: Vec<String>,
    cumulated: Vec<f64>,
}

impl Vocabulary {
    pub fn new(size: usize) -> Self {
        const ONSETS: [&str; 16] = [
            "b", "c", "d", "f", "g", "h", "l", "m", "n", "p", "r", "s", "t", "v", "st", "tr",
        ];
        const NUCLEI: [&str; 8] = ["a", "e", "i", "o", "u", "ea", "ou", "ai"];
        const CODAS: [&str; 8] = ["", "n", "r", "s", "t", "l", "ng", "ck"];
        const ENDINGS: [&str; 6] = ["", "", "s", "ed", "ing", "er"];
        let mut words = Vec::with_capacity(size);
        for rank in 0..size {
            // The most frequent words are the shortest.
            let mut number = rank;
            let mut word = String::new();
            loop {
                word.push_str(ONSETS[number % 16]);
                word.push_str(NUCLEI[number / 16 % 8]);
                word.push_str(CODAS[number / 128 % 8]);
                number /= 1024;
                if number == 0 {
                    break;
                }
            }
            word.push_str(ENDINGS[rank * 7 % 6]);
            words.push(word);
        }
        let mut sum = 0.0;
        let cumulated = (0..size)
            .map(|rank| {
                sum += 1.0 / (rank as f64 + 2.7);
                sum
            })
            .collect();
        Self { words, cumulated }
    }

    pub fn word(&self, random: &mut Seeded) -> &str {
        let total = self.cumulated.last().copied().unwrap_or(1.0);
        let at = random.unit() * total;
        let rank = self.cumulated.partition_point(|sum| *sum < at);
        &self.words[rank.min(self.words.len() - 1)]
    }

    /// That many words in sentences, on lines of a usual length.
    pub fn paragraph(&self, words: usize, random: &mut Seeded) -> String {
        let mut text = String::new();
        let (mut line, mut sentence) = (0, 0);
        for n in 0..words {
            let word = self.word(random);
            if sentence == 0 {
                let mut letters = word.chars();
                text.extend(letters.next().map(|c| c.to_ascii_uppercase()));
                text.push_str(letters.as_str());
            } else {
                text.push_str(word);
            }
            line += word.len() + 1;
            sentence += 1;
            let ends = n + 1 == words || (sentence > 8 && random.below(9) == 0);
            if ends {
                text.push('.');
                sentence = 0;
            } else if random.below(14) == 0 {
                text.push(',');
            }
            if line > 78 {
                text.push('\n');
                line = 0;
            } else {
                text.push(' ');
            }
        }
        text.truncate(text.trim_end().len());
        text
    }
}
