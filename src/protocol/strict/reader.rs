//! Reads JSON text, one character after another.

use super::{Document, Kind, Member, Node, Note, SyntaxError};

#[derive(Debug)]
pub(super) struct Reader<'a> {
    whole: &'a str,
    text: &'a [u8],
    at: usize,
    left: usize,
    notes: Vec<Note>,
}

impl<'a> Reader<'a> {
    /// At the start of `text`.
    pub(super) fn new(text: &'a str, depth: usize) -> Self {
        // Recursion is bounded by `depth`; the cap keeps a careless limit from
        // overflowing the stack.
        Self { whole: text, text: text.as_bytes(), at: 0, left: depth.min(2048), notes: Vec::new() }
    }

    /// The whole text as one value.
    pub(super) fn document(mut self) -> Result<Document, SyntaxError> {
        self.space();
        let root = self.value()?;
        self.space();
        if self.at < self.text.len() {
            return Err(self.error("text after the value"));
        }
        Ok(Document { root, notes: self.notes })
    }

    fn error(&self, what: &'static str) -> SyntaxError {
        SyntaxError { at: self.at, what }
    }

    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn value(&mut self) -> Result<Node, SyntaxError> {
        let start = self.at;
        let kind = match self.peek() {
            Some(b'{' | b'[') if self.left == 0 => {
                self.notes.push(Note::TooDeep { at: start });
                self.skip()?;
                Kind::TooDeep
            }
            Some(b'{') => self.object()?,
            Some(b'[') => self.array()?,
            Some(b'"') => Kind::String(self.string()?),
            Some(b'-' | b'0'..=b'9') => {
                self.number()?;
                Kind::Number(self.slice(start))
            }
            Some(b't') => self.word("true", Kind::Bool(true))?,
            Some(b'f') => self.word("false", Kind::Bool(false))?,
            Some(b'n') => self.word("null", Kind::Null)?,
            Some(_) => return Err(self.error("expected a value")),
            None => return Err(self.error("the text ends where a value should stand")),
        };
        Ok(Node { span: start..self.at, kind })
    }

    fn slice(&self, start: usize) -> String {
        self.whole[start..self.at].to_owned()
    }

    fn word(&mut self, word: &str, kind: Kind) -> Result<Kind, SyntaxError> {
        if self.text[self.at..].starts_with(word.as_bytes()) {
            self.at += word.len();
            Ok(kind)
        } else {
            Err(self.error("expected a value"))
        }
    }

    fn array(&mut self) -> Result<Kind, SyntaxError> {
        self.at += 1;
        self.left -= 1;
        let mut items = Vec::new();
        self.space();
        if self.peek() == Some(b']') {
            self.at += 1;
        } else {
            loop {
                self.space();
                items.push(self.value()?);
                self.space();
                match self.peek() {
                    Some(b',') => self.at += 1,
                    Some(b']') => {
                        self.at += 1;
                        break;
                    }
                    _ => return Err(self.error("expected ',' or ']'")),
                }
            }
        }
        self.left += 1;
        Ok(Kind::Array(items))
    }

    fn object(&mut self) -> Result<Kind, SyntaxError> {
        let mut members: Vec<Member> = Vec::new();
        self.members(&mut members)?;
        self.note_duplicates(&members);
        Ok(Kind::Object(members))
    }

    /// The members of the outermost object up to where the text breaks.
    pub(super) fn beginning(mut self) -> Vec<Member> {
        let mut members = Vec::new();
        self.space();
        if self.peek() == Some(b'{') && self.left > 0 {
            // However it breaks: what stands before was read.
            let _ = self.members(&mut members);
        }
        // A value with nothing behind it that ends it may have gone on.
        let behind = |end: usize| self.text[end..].iter().find(|byte| !byte.is_ascii_whitespace());
        let is_whole = |member: &Member| matches!(behind(member.value.span.end), Some(b',' | b'}'));
        if members.last().is_some_and(|last| !is_whole(last)) {
            members.pop();
        }
        members
    }

    fn members(&mut self, members: &mut Vec<Member>) -> Result<(), SyntaxError> {
        self.at += 1;
        self.left -= 1;
        self.space();
        if self.peek() == Some(b'}') {
            self.at += 1;
        } else {
            loop {
                self.space();
                let start = self.at;
                if self.peek() != Some(b'"') {
                    return Err(self.error("expected a key in quotes"));
                }
                let key = self.string()?;
                let key_span = start..self.at;
                self.space();
                if self.peek() != Some(b':') {
                    return Err(self.error("expected ':'"));
                }
                self.at += 1;
                self.space();
                let value = self.value()?;
                members.push(Member { key, key_span, value });
                self.space();
                match self.peek() {
                    Some(b',') => self.at += 1,
                    Some(b'}') => {
                        self.at += 1;
                        break;
                    }
                    _ => return Err(self.error("expected ',' or '}'")),
                }
            }
        }
        self.left += 1;
        Ok(())
    }

    fn note_duplicates(&mut self, members: &[Member]) {
        // A handful of keys is compared directly; a flood of them is sorted, so
        // that a hostile object can't make this quadratic.
        if members.len() <= 16 {
            for (index, member) in members.iter().enumerate() {
                if members[..index].iter().any(|earlier| earlier.key == member.key) {
                    self.notes.push(Note::DuplicateKey { key: member.key.clone(), at: member.key_span.start });
                }
            }
            return;
        }
        let mut seen = std::collections::HashSet::with_capacity(members.len());
        for member in members {
            if !seen.insert(member.key.as_str()) {
                self.notes.push(Note::DuplicateKey { key: member.key.clone(), at: member.key_span.start });
            }
        }
    }

    fn number(&mut self) -> Result<(), SyntaxError> {
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        match self.peek() {
            Some(b'0') => self.at += 1,
            Some(b'1'..=b'9') => self.digits(),
            _ => return Err(self.error("expected a digit")),
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.some_digits()?;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            self.some_digits()?;
        }
        Ok(())
    }

    fn digits(&mut self) {
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
    }

    fn some_digits(&mut self) -> Result<(), SyntaxError> {
        let start = self.at;
        self.digits();
        if start == self.at { Err(self.error("expected a digit")) } else { Ok(()) }
    }

    fn string(&mut self) -> Result<String, SyntaxError> {
        let opening = self.at;
        self.at += 1;
        let mut out = String::new();
        loop {
            let start = self.at;
            while !matches!(self.peek(), None | Some(b'"' | b'\\' | 0..=0x1f)) {
                self.at += 1;
            }
            out.push_str(&self.whole[start..self.at]);
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(out);
                }
                Some(b'\\') => self.escape(opening, &mut out)?,
                Some(_) => return Err(self.error("control character in a string")),
                None => return Err(self.error("the text ends in a string")),
            }
        }
    }

    fn escape(&mut self, opening: usize, out: &mut String) -> Result<(), SyntaxError> {
        self.at += 1;
        let plain = match self.peek() {
            Some(b'"') => '"',
            Some(b'\\') => '\\',
            Some(b'/') => '/',
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => {
                self.at += 1;
                let decoded = self.unicode_escape()?;
                if decoded.is_none() {
                    self.notes.push(Note::LoneSurrogate { at: opening });
                }
                out.push(decoded.unwrap_or(char::REPLACEMENT_CHARACTER));
                return Ok(());
            }
            _ => return Err(self.error("unknown escape")),
        };
        self.at += 1;
        out.push(plain);
        Ok(())
    }

    /// The character of a `\u` escape and its second half; `None` for a lone surrogate.
    fn unicode_escape(&mut self) -> Result<Option<char>, SyntaxError> {
        let first = self.hex4()?;
        if !(0xd800..0xdc00).contains(&first) {
            return Ok(char::from_u32(first));
        }
        if self.text[self.at..].starts_with(b"\\u") {
            let back = self.at;
            self.at += 2;
            let second = self.hex4()?;
            if (0xdc00..0xe000).contains(&second) {
                return Ok(char::from_u32(0x1_0000 + ((first - 0xd800) << 10) + (second - 0xdc00)));
            }
            self.at = back;
        }
        Ok(None)
    }

    fn hex4(&mut self) -> Result<u32, SyntaxError> {
        let mut value = 0;
        for _ in 0..4 {
            let digit = self.peek().and_then(|byte| char::from(byte).to_digit(16));
            value = value * 16 + digit.ok_or_else(|| self.error("expected four hex digits"))?;
            self.at += 1;
        }
        Ok(value)
    }

    /// Skips one array or object, however deep, without recursion.
    fn skip(&mut self) -> Result<(), SyntaxError> {
        let mut open = Vec::new();
        loop {
            match self.peek() {
                Some(byte @ (b'{' | b'[')) => {
                    open.push(byte);
                    self.at += 1;
                }
                Some(byte @ (b'}' | b']')) => {
                    let matching = if byte == b'}' { b'{' } else { b'[' };
                    if open.pop() != Some(matching) {
                        return Err(self.error("brackets don't match"));
                    }
                    self.at += 1;
                }
                Some(b'"') => {
                    self.string()?;
                }
                Some(_) => self.at += 1,
                None => return Err(self.error("the text ends inside a value")),
            }
            if open.is_empty() {
                return Ok(());
            }
        }
    }
}
