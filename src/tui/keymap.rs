//! Which key does what: data in `assets/keymap.toml`.
//!
//! The help overlay and the hints in the last line are made from the same table that is asked
//! when a key arrives, so they cannot disagree with it.

use std::collections::{HashMap, HashSet};

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use serde::Deserialize;

use super::error::{TuiError, toml_error};
use super::keyboard::on_us_keyboard;

/// The table, ours with what the user's changes of it.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Keymap {
    /// Where letters are text, or may be.
    #[serde(default)]
    typed: HashSet<KeyContext>,
    #[serde(default)]
    titles: HashMap<KeyContext, String>,
    #[serde(default, rename = "key")]
    bindings: Vec<Binding>,
    /// The first key of a sequence, once it was pressed.
    #[serde(skip)]
    pressed: Option<KeyStroke>,
}

/// One line of the table.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Binding {
    /// The keys, the one to show first; a user's may be none, which takes them away.
    #[serde(rename = "on")]
    pub keys: Vec<Key>,
    /// The action that the keys cause.
    #[serde(rename = "do")]
    pub action: Action,
    /// The context in which the keys hold.
    #[serde(rename = "where")]
    pub place: KeyContext,
    /// The word in the last line of the screen.
    pub hint: Option<String>,
    /// The line in help; an empty one is listed with another key, and a user's may be that of ours.
    pub help: Option<String>,
}

impl Binding {
    /// The line in help.
    pub fn help(&self) -> &str {
        self.help.as_deref().unwrap_or_default()
    }
}

impl Keymap {
    /// The table from the assets.
    pub fn load() -> Result<Self, TuiError> {
        Self::read(include_str!("../../assets/keymap.toml")).map_err(|reason| TuiError::Asset {
            name: "keymap.toml".to_owned(),
            reason,
        })
    }

    fn read(source: &str) -> Result<Self, String> {
        toml::from_str(source).map_err(|error| toml_error(source, &error))
    }

    /// Puts the user's own keys in the place of ours; where they cannot be read, one line says why.
    pub fn put_own(&mut self, source: &str) -> Result<(), String> {
        let own =
            Self::read(source).map_err(|why| format!("keymap.toml: {why}; it is not used."))?;
        own.bindings.into_iter().for_each(|entry| self.bind(entry));
        Ok(())
    }

    /// What help calls a place.
    pub fn title(&self, place: KeyContext) -> &str {
        self.titles.get(&place).map_or("", String::as_str)
    }

    /// A key does one thing in a place, or begins sequences: what was bound to it before is not any more.
    fn bind(&mut self, mut entry: Binding) {
        for binding in &mut self.bindings {
            let is_there = binding.place == entry.place;
            let holds_there = is_there || entry.place == KeyContext::Global;
            let is_taken = |key: &Key, own: &Key| {
                is_there && (key == own || key.begins(*own)) || holds_there && own.begins(*key)
            };
            binding
                .keys
                .retain(|key| !entry.keys.iter().any(|own| is_taken(key, own)));
        }
        let is_same = |one: &Binding| (one.action, one.place) == (entry.action, entry.place);
        let at = self.bindings.iter().position(is_same);
        let known = self.bindings.iter().find(|one| one.action == entry.action);
        if let Some(ours) = at.map(|at| &self.bindings[at]).or(known) {
            entry.hint = entry.hint.or_else(|| ours.hint.clone());
            entry.help = entry.help.or_else(|| ours.help.clone());
        }
        // Ours may stand there twice, under keys of two kinds.
        let (action, place) = (entry.action, entry.place);
        self.bindings
            .retain(|one| (one.action, one.place) != (action, place));
        let at = at.map_or(self.bindings.len(), |at| at.min(self.bindings.len()));
        self.bindings.insert(at, entry);
        self.bindings.retain(|binding| !binding.keys.is_empty());
    }

    /// What the key does in the first of these places that knows it. Where no text is typed, a letter
    /// of another keyboard means the key at its place.
    pub fn action(&self, event: KeyEvent, places: &[KeyContext]) -> Option<Action> {
        let elsewhere = || {
            let latin = on_us_keyboard(event)?;
            let without_text = places
                .iter()
                .copied()
                .filter(|place| !self.typed.contains(place));
            self.bound(latin, &without_text.collect::<Vec<_>>())
        };
        self.bound(event, places).or_else(elsewhere)
    }

    /// The key with its letter on a US keyboard, if Ctrl or Alt is held and the key is not bound as it
    /// is.
    pub fn shortcut(&self, event: KeyEvent) -> KeyEvent {
        let held = KeyModifiers::CONTROL | KeyModifiers::ALT;
        let latin = on_us_keyboard(event).filter(|_| event.modifiers.intersects(held));
        let key = Key::from(event);
        let is_bound = || self.bindings.iter().any(|one| one.keys.contains(&key));
        latin.filter(|_| !is_bound()).unwrap_or(event)
    }

    /// Holds a key that begins a sequence until the next key; returns whether it does. The first of these
    /// places that knows the key says what it is.
    pub fn begin_sequence(&mut self, event: KeyEvent, places: &[KeyContext]) -> bool {
        let pressed = Key::from(event);
        let is_beginning = places.iter().find_map(|place| {
            let bindings = self.bindings.iter().filter(|one| one.place == *place);
            let mut keys = bindings.flat_map(|one| &one.keys);
            let known = keys.find(|key| **key == pressed || pressed.begins(**key))?;
            Some(pressed.begins(*known))
        });
        let begins = is_beginning.unwrap_or(false) && self.pressed.is_none();
        if begins {
            self.pressed = Some(pressed.stroke);
        }
        begins
    }

    /// The key that was pressed and waits for the next one of its sequence.
    pub fn pending_key(&self) -> Option<Key> {
        let stroke = self.pressed?;
        let after = None;
        Some(Key { after, stroke })
    }

    /// Whether a key is held and these places know no sequence that goes on with this one.
    pub fn leaves_sequence(&self, event: KeyEvent, places: &[KeyContext]) -> bool {
        self.pressed.is_some() && self.action(event, places).is_none()
    }

    /// The next key begins anew.
    pub fn end_sequence(&mut self) {
        self.pressed = None;
    }

    fn bound(&self, event: KeyEvent, places: &[KeyContext]) -> Option<Action> {
        let key = Key {
            after: self.pressed,
            ..Key::from(event)
        };
        places.iter().find_map(|place| {
            let is_it = |one: &&Binding| one.place == *place && one.keys.contains(&key);
            Some(self.bindings.iter().find(is_it)?.action)
        })
    }

    /// What the last line says of the keys in these places; a key means what the first of them says.
    pub fn hints(&self, places: &[KeyContext]) -> Vec<&Binding> {
        let mut hints: Vec<&Binding> = Vec::new();
        let of = |place: &KeyContext| {
            let place = *place;
            let bindings = self.bindings.iter();
            bindings.filter(move |one| one.place == place && one.hint.is_some())
        };
        for binding in places.iter().flat_map(of) {
            let is_known = |known: &&Binding| known.keys.first() == binding.keys.first();
            if !hints.iter().any(is_known) {
                hints.push(binding);
            }
        }
        hints
    }

    /// What the first key that does this is called.
    pub fn name_of(&self, action: Action) -> Option<String> {
        let mut bindings = self.bindings.iter();
        let binding = bindings.find(|binding| binding.action == action)?;
        Some(binding.keys.first()?.name())
    }

    /// What the first key that does this there is called.
    pub fn name_in(&self, action: Action, place: KeyContext) -> Option<String> {
        let is_it = |one: &&Binding| (one.action, one.place) == (action, place);
        Some(self.bindings.iter().find(is_it)?.keys.first()?.name())
    }

    /// What help says of a place. What a key does in a window as in the panes is listed once, and
    /// that arrows move in a list not at all.
    pub fn bindings_of(&self, place: KeyContext) -> impl Iterator<Item = &Binding> {
        let in_panes = |one: &Binding| {
            self.bindings.iter().any(|other| {
                other.place == KeyContext::List
                    && other.action == one.action
                    && other.keys.first() == one.keys.first()
            })
        };
        let of_place = self.bindings.iter().filter(move |one| one.place == place);
        let listed = of_place.filter(|one| one.place != KeyContext::Menu || one.hint.is_some());
        let listed = listed.filter(|one| !one.help().is_empty());
        listed.filter(move |one| place != KeyContext::Overlay || !in_panes(one))
    }
}

// What keys can do, and where they mean something, by the names of the table.

/// What a key can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Action {
    /// Sends the question, or runs the command that is typed.
    Send,
    /// Breaks the line.
    Newline,
    /// Recalls the question asked before.
    HistoryPrevious,
    /// Recalls the question asked after.
    HistoryNext,
    /// Moves one row up.
    Up,
    /// Moves one row down.
    Down,
    /// Moves one page up.
    PageUp,
    /// Moves one page down.
    PageDown,
    /// Selects the first row.
    First,
    /// Selects the last row.
    Last,
    /// Shows more of what is selected.
    Open,
    /// Shows more or less of what is selected, where it stands.
    Unfold,
    /// Shows the path as it ran, or the graph.
    Unroll,
    /// Narrows the audit list.
    Filter,
    /// Shows the next event in the window of an event.
    NextEvent,
    /// Shows the previous event in the window of an event.
    PreviousEvent,
    /// Selects the next warning.
    NextWarning,
    /// Selects the previous warning.
    PreviousWarning,
    /// Shows one pane alone.
    Zoom,
    /// Shows all keys.
    Help,
    /// Gives the keys to the next pane.
    NextPane,
    /// Gives the keys to the pane before.
    PreviousPane,
    /// Gives the keys to the chat pane.
    FocusChat,
    /// Gives the keys to the path pane.
    FocusPath,
    /// Gives the keys to the evidence pane.
    FocusEvidence,
    /// Gives the keys to the audit pane.
    FocusAudit,
    /// Shows the run before in the panes.
    PreviousRun,
    /// Shows the run after in the panes.
    NextRun,
    /// Asks again by a route to be chosen.
    Retry,
    /// Begins another run at a node, with the state that the run had there.
    RunAgain,
    /// Tells the model something besides.
    Instruct,
    /// Takes the question into the prompt, to be asked in other words.
    EditQuestion,
    /// Shows the branch of the conversation before.
    PreviousBranch,
    /// Shows the branch of the conversation after.
    NextBranch,
    /// Lists recorded conversations.
    Sessions,
    /// Lists earlier questions.
    Recall,
    /// Gives the selected conversation another name.
    Rename,
    /// Deletes the selected conversation from the list.
    Delete,
    /// Writes the conversation to a file.
    Export,
    /// Shows two runs side by side.
    Compare,
    /// Takes over what is selected in the list above the prompt.
    Complete,
    /// Lists all that can be done, to choose from.
    Palette,
    /// Searches in the conversation.
    Find,
    /// Lists sample questions to choose from.
    Samples,
    /// Shows what all recorded runs came to.
    Stats,
    /// Shows what is indexed and what is not.
    ShowIndex,
    /// Shows what the knowledge base is made of.
    ShowSources,
    /// Shows which engine answers.
    ShowEngine,
    /// Lists which model does which job, to choose from.
    ChooseModel,
    /// Takes a model, and writes it to the user's own settings.
    KeepModel,
    /// Goes to the next job in the list of models.
    NextJob,
    /// Goes to the previous job in the list of models.
    PreviousJob,
    /// Forgets the conversation.
    Forget,
    /// Leaves at once.
    Leave,
    /// Selects the next item of evidence.
    NextEvidence,
    /// Selects the previous item of evidence.
    PreviousEvidence,
    /// Selects the next citation of the answer.
    NextCitation,
    /// Selects the previous citation of the answer.
    PreviousCitation,
    /// Copies what is shown.
    Copy,
    /// Copies the run as Markdown.
    CopyRun,
    /// Turns mouse reporting off, so that the terminal selects, or on again.
    Mouse,
    /// Lets letters act on the answer that is chosen.
    ActOnAnswer,
    /// Shows why a passage was found or was not.
    Why,
    /// Opens the file in the person's editor.
    Edit,
    /// Has the question written in the person's editor.
    Write,
    /// Lists the documents of the knowledge base, to choose from.
    Documents,
    /// Shows a document.
    OpenDocument,
    /// Keeps the answer in a file.
    Save,
    /// Searches in all answers.
    SearchAnswers,
    /// Stops the run, else closes what is open.
    Cancel,
    /// Clears the question; twice: leaves.
    Quit,
    /// Goes back to the shell, which brings the program back with `fg`.
    Suspend,
    /// Replays the run that is shown.
    Replay,
    /// Lets the replay go on by itself, or stops it.
    Play,
    /// Replays one event forward.
    StepForward,
    /// Replays one event back.
    StepBack,
    /// Goes to where the next node is entered.
    NextNode,
    /// Goes to where this node was entered, or the node before.
    PreviousNode,
    /// Goes to the first event.
    ToStart,
    /// Goes to the last event.
    ToEnd,
    /// Plays faster.
    Faster,
    /// Plays more slowly.
    Slower,
    /// Gives every event time to be seen, or the time that it took.
    Slow,
    /// Shows what the run would have done within other limits.
    WhatIf,
    /// Moves what is selected down a step.
    Less,
    /// Moves what is selected up a step.
    More,
    /// Moves what is selected far down.
    MuchLess,
    /// Moves what is selected far up.
    MuchMore,
    /// Puts all back as it was.
    Reset,
    /// Writes the limits that were moved to the person's own settings file.
    KeepSettings,
    /// Chooses the route of the questions to come.
    Route,
    /// Chooses the colours.
    Theme,
    /// Asks by two routes at once.
    Race,
    /// Takes up another folder or file.
    Add,
    /// Judges the focused item as good.
    JudgeGood,
    /// Judges the focused item as bad.
    JudgeBad,
}

/// Where a key means something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum KeyContext {
    /// The chat pane, where text is typed.
    Prompt,
    /// The chat pane while nothing is typed and the answer has citations.
    Answer,
    /// The chat pane while a citation is selected.
    Citation,
    /// The chat pane while an answer is chosen and nothing is typed.
    Chosen,
    /// The chat pane while letters act on the answer that is chosen.
    Acting,
    /// The search in the conversation.
    Find,
    /// Any of the other panes.
    List,
    /// The path pane.
    Path,
    /// The evidence pane.
    Evidence,
    /// The audit pane.
    Audit,
    /// The window of an event.
    Event,
    /// The source view.
    Source,
    /// The details of a node.
    Detail,
    /// A replay.
    Replay,
    /// The list of recorded conversations.
    Sessions,
    /// The same while it lists servers found on this machine, and nothing is typed.
    Found,
    /// The list of models.
    Models,
    /// The search in earlier questions.
    Recall,
    /// A list to choose from that is typed into.
    Menu,
    /// The window of limits that can be moved.
    WhatIf,
    /// The window from which a run begins again at a node.
    Rerun,
    /// What lies above the panes.
    Overlay,
    /// Everywhere below an overlay.
    Global,
}

// Keys by their names: as the table spells them, as help and the last line show them.

/// How keys are called in the last line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum KeyNames {
    /// Keys are signs, such as `⏎` and `^R`.
    #[default]
    Signs,
    /// Keys are words, where the terminal has no such signs.
    Words,
}

/// A key with its modifiers, and the key that is pressed before it where it ends a sequence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Key {
    after: Option<KeyStroke>,
    stroke: KeyStroke,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct KeyStroke {
    code: KeyCode,
    modifiers: KeyModifiers,
}

const NAMED: [(&str, &str, &str, KeyCode); 14] = [
    ("enter", "Enter", "⏎", KeyCode::Enter),
    ("esc", "Esc", "Esc", KeyCode::Esc),
    ("tab", "Tab", "⇥", KeyCode::Tab),
    ("space", "Space", "␣", KeyCode::Char(' ')),
    ("up", "↑", "↑", KeyCode::Up),
    ("down", "↓", "↓", KeyCode::Down),
    ("left", "←", "←", KeyCode::Left),
    ("right", "→", "→", KeyCode::Right),
    ("home", "Home", "Home", KeyCode::Home),
    ("end", "End", "End", KeyCode::End),
    ("pageup", "PgUp", "PgUp", KeyCode::PageUp),
    ("pagedown", "PgDn", "PgDn", KeyCode::PageDown),
    ("backspace", "Backspace", "⌫", KeyCode::Backspace),
    ("delete", "Del", "Del", KeyCode::Delete),
];

impl Key {
    /// The key of that name, as the table spells it: `ctrl+r`, `ctrl+x ctrl+e`.
    pub fn parse(name: &str) -> Option<Self> {
        // A space alone is a key.
        let sequence = name.split_once(' ').filter(|_| name.len() > 1);
        let (before, last) = sequence.unzip();
        Some(Self {
            after: match before {
                Some(before) => Some(KeyStroke::parse(before)?),
                None => None,
            },
            stroke: KeyStroke::parse(last.unwrap_or(name))?,
        })
    }

    /// The key's name for help, such as `Ctrl+R`.
    pub fn name(self) -> String {
        self.spelled(KeyStroke::name)
    }

    /// `^R`, for the last line.
    pub fn glyph(self) -> String {
        self.spelled(KeyStroke::glyph)
    }

    /// What the last line calls it.
    pub fn called(self, names: KeyNames) -> String {
        match names {
            KeyNames::Signs => self.glyph(),
            KeyNames::Words => self.name(),
        }
    }

    /// Whether it is one key alone, with which this sequence begins.
    fn begins(self, sequence: Self) -> bool {
        self.after.is_none() && sequence.after == Some(self.stroke)
    }

    fn spelled(self, spell: impl Fn(KeyStroke) -> String) -> String {
        let before = self.after.map(|stroke| spell(stroke) + " ");
        before.unwrap_or_default() + &spell(self.stroke)
    }
}

impl KeyStroke {
    fn parse(name: &str) -> Option<Self> {
        let mut modifiers = KeyModifiers::NONE;
        let mut rest = name;
        while let Some((word, after)) = rest.split_once('+').filter(|(_, after)| !after.is_empty())
        {
            modifiers |= match word {
                "ctrl" => KeyModifiers::CONTROL,
                "alt" => KeyModifiers::ALT,
                "shift" => KeyModifiers::SHIFT,
                _ => return None,
            };
            rest = after;
        }
        let mut chars = rest.chars();
        let code = match (chars.next(), chars.next()) {
            (Some(only), None) => KeyCode::Char(only),
            _ => match NAMED.iter().find(|(word, ..)| *word == rest) {
                Some((.., code)) => *code,
                None => KeyCode::F(rest.strip_prefix('f')?.parse().ok()?),
            },
        };
        Some(Self { code, modifiers })
    }

    fn name(self) -> String {
        self.spelled(["Ctrl+", "Alt+", "Shift+"], |(_, name, ..)| name)
    }

    fn glyph(self) -> String {
        self.spelled(["^", "⌥", "⇧"], |(_, _, glyph, _)| glyph)
    }

    fn spelled(
        self,
        modifiers: [&str; 3],
        word: impl Fn((&'static str, &'static str, &'static str, KeyCode)) -> &'static str,
    ) -> String {
        let mut text = String::new();
        for (modifier, spelled) in [
            KeyModifiers::CONTROL,
            KeyModifiers::ALT,
            KeyModifiers::SHIFT,
        ]
        .into_iter()
        .zip(modifiers)
        {
            if self.modifiers.contains(modifier) {
                text.push_str(spelled);
            }
        }
        match NAMED.iter().find(|(.., code)| *code == self.code) {
            Some(named) => text.push_str(word(*named)),
            None => match self.code {
                KeyCode::Char(c) if self.modifiers.contains(KeyModifiers::CONTROL) => {
                    text.extend(c.to_uppercase());
                }
                // "Alt++" is hard to read.
                KeyCode::Char('+') if text.ends_with('+') => text.push_str("Plus"),
                KeyCode::Char('-') if text.ends_with('+') => text.push_str("Minus"),
                KeyCode::Char(c) => text.push(c),
                KeyCode::F(n) => text.push_str(&["F", &n.to_string()].concat()),
                _ => {}
            },
        }
        text
    }
}

impl TryFrom<String> for Key {
    type Error = String;

    fn try_from(name: String) -> Result<Self, String> {
        Self::parse(&name).ok_or_else(|| format!("'{name}' is no key"))
    }
}

impl From<KeyEvent> for Key {
    /// Normalises an event to the keymap's spelling: terminals differ in shifted capitals and in
    /// back-tab.
    fn from(event: KeyEvent) -> Self {
        let known = KeyModifiers::CONTROL | KeyModifiers::ALT | KeyModifiers::SHIFT;
        let mut modifiers = event.modifiers & known;
        let code = match event.code {
            KeyCode::BackTab => {
                modifiers |= KeyModifiers::SHIFT;
                KeyCode::Tab
            }
            KeyCode::Char(c) if modifiers.contains(KeyModifiers::CONTROL) => {
                KeyCode::Char(c.to_ascii_lowercase())
            }
            code => code,
        };
        if matches!(code, KeyCode::Char(_)) {
            modifiers -= KeyModifiers::SHIFT;
        }
        Self {
            after: None,
            stroke: KeyStroke { code, modifiers },
        }
    }
}

#[cfg(test)]
mod tests {
    use crossterm::event::{KeyCode, KeyModifiers};

    use super::*;

    #[test]
    fn every_place_has_a_title_and_every_key_its_line_in_help() {
        let keymap = Keymap::load().unwrap();
        for binding in &keymap.bindings {
            assert!(binding.help.is_some(), "{binding:?}");
            assert_ne!(keymap.title(binding.place), "", "{binding:?}");
        }
    }

    #[test]
    fn the_table_loads_and_no_key_is_bound_twice_in_a_place() {
        let keymap = Keymap::load().unwrap();
        let mut seen: Vec<(KeyContext, Key)> = Vec::new();
        for binding in &keymap.bindings {
            for key in &binding.keys {
                assert!(
                    !seen.contains(&(binding.place, *key)),
                    "{} twice in {:?}",
                    key.name(),
                    binding.place
                );
                seen.push((binding.place, *key));
            }
        }
    }

    #[test]
    fn keys_are_recognised_as_terminals_report_them() {
        let keymap = Keymap::load().unwrap();
        for (event, places, action) in [
            (
                KeyEvent::new(KeyCode::BackTab, KeyModifiers::SHIFT),
                [KeyContext::Global],
                Action::PreviousPane,
            ),
            (
                KeyEvent::new(KeyCode::Char('G'), KeyModifiers::SHIFT),
                [KeyContext::List],
                Action::Last,
            ),
            (
                KeyEvent::new(KeyCode::Char('?'), KeyModifiers::SHIFT),
                [KeyContext::List],
                Action::Help,
            ),
            (
                KeyEvent::new(KeyCode::Char('r'), KeyModifiers::CONTROL),
                [KeyContext::Global],
                Action::Recall,
            ),
        ] {
            assert_eq!(keymap.action(event, &places), Some(action), "{event:?}");
        }
    }

    #[test]
    fn keys_mean_the_same_on_every_keyboard() {
        let keymap = Keymap::load().unwrap();
        let pressed = |letter, modifiers, place| {
            let event = keymap.shortcut(KeyEvent::new(KeyCode::Char(letter), modifiers));
            keymap.action(event, &[place])
        };
        let global = KeyContext::Global;
        let ctrl = KeyModifiers::CONTROL;
        for (letter, action) in [
            ('с', Action::Quit),
            ('к', Action::Recall),
            ('ψ', Action::Quit),
            ('ב', Action::Quit),
        ] {
            assert_eq!(pressed(letter, ctrl, global), Some(action), "{letter}");
        }
        let plain = KeyModifiers::NONE;
        assert_eq!(pressed('о', plain, KeyContext::List), Some(Action::Down));
        assert_eq!(pressed('П', plain, KeyContext::List), Some(Action::Last));
        // It begins a question there.
        for place in [
            "prompt", "answer", "citation", "chosen", "find", "menu", "global",
        ] {
            let place: KeyContext = toml::Value::from(place).try_into().unwrap();
            assert!(keymap.typed.contains(&place), "{place:?}");
        }
        assert_eq!(pressed('х', plain, KeyContext::Answer), None);
        let own = "[[key]]\non = ['ctrl+с']\ndo = 'copy'\nwhere = 'list'\n";
        let mut own_keymap = Keymap::load().unwrap();
        own_keymap.put_own(own).unwrap();
        let event = KeyEvent::new(KeyCode::Char('с'), ctrl);
        assert_eq!(own_keymap.shortcut(event), event);
    }

    #[test]
    fn the_users_keys_take_the_place_of_ours() {
        let own = "[[key]]\non = ['x', 'ctrl+y']\ndo = 'copy'\nwhere = 'list'\n\
                   [[key]]\non = []\ndo = 'zoom'\nwhere = 'list'\n\
                   [[key]]\non = ['j']\ndo = 'up'\nwhere = 'list'\n";
        let mut keymap = Keymap::load().unwrap();
        keymap.put_own(own).unwrap();
        let does = |c| {
            let event = KeyEvent::new(KeyCode::Char(c), KeyModifiers::NONE);
            keymap.action(event, &[KeyContext::List])
        };
        assert_eq!(does('x'), Some(Action::Copy));
        assert_eq!((does('y'), does('z')), (None, None));
        assert_eq!(does('j'), Some(Action::Up));
        let down = KeyEvent::new(KeyCode::Down, KeyModifiers::NONE);
        assert_eq!(keymap.action(down, &[KeyContext::List]), Some(Action::Down));
    }

    #[test]
    fn a_key_of_the_users_that_begins_a_sequence_of_ours_is_theirs() {
        let ctrl = |c| KeyEvent::new(KeyCode::Char(c), KeyModifiers::CONTROL);
        let places = [KeyContext::Prompt, KeyContext::Global];
        for place in ["prompt", "global"] {
            let own = format!("[[key]]\non = ['ctrl+x']\ndo = 'copy'\nwhere = '{place}'");
            let mut keymap = Keymap::load().unwrap();
            assert!(keymap.begin_sequence(ctrl('x'), &places));
            assert_eq!(keymap.action(ctrl('e'), &places), Some(Action::Write));
            keymap.end_sequence();
            keymap.put_own(&own).unwrap();
            assert!(!keymap.begin_sequence(ctrl('x'), &places), "{place}");
            assert_eq!(keymap.action(ctrl('x'), &places), Some(Action::Copy));
            assert_eq!(keymap.action(ctrl('g'), &places), Some(Action::Write));
        }
        let own = "[[key]]\non = ['ctrl+g g']\ndo = 'copy'\nwhere = 'prompt'";
        let mut keymap = Keymap::load().unwrap();
        keymap.put_own(own).unwrap();
        assert!(keymap.begin_sequence(ctrl('g'), &places));
    }

    #[test]
    fn a_mistake_in_the_users_keys_is_one_clear_line() {
        for (own, said) in [
            (
                "[[key]]\non = ['hyper+x']\ndo = 'copy'\nwhere = 'list'",
                "'hyper+x' is no key",
            ),
            (
                "[[key]]\non = ['x']\ndo = 'fly'\nwhere = 'list'",
                "line 3: unknown variant `fly`",
            ),
            ("[[key]]\non = 'x'\ndo = 'copy'\nwhere = 'list'", "line 2"),
            ("key = [", "line 1"),
        ] {
            let error = Keymap::load().unwrap().put_own(own).unwrap_err();
            assert!(error.contains(said) && !error.contains('\n'), "{error}");
        }
    }
}

#[cfg(test)]
mod keys_tests {
    use super::*;

    #[test]
    fn keys_have_names() {
        assert_eq!(Key::parse("alt+enter").unwrap().glyph(), "⌥⏎");
        assert_eq!(Key::parse("ctrl+r").unwrap().name(), "Ctrl+R");
        assert_eq!(Key::parse("f1").unwrap().name(), "F1");
        let sequence = Key::parse("ctrl+x ctrl+e").unwrap();
        assert_eq!(sequence.name(), "Ctrl+X Ctrl+E");
        assert!(Key::parse("ctrl+x ").is_none());
    }
}
