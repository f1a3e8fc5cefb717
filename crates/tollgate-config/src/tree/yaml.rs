//! YAML 1.2, one document, by the events of its parser.
//!
//! Aliases are resolved, and what they repeat is bounded, so that a few lines cannot grow to fill
//! the memory. Tags and merge keys are refused: the first would change what a value is, the second
//! is no part of YAML 1.2.

use std::borrow::Cow;
use std::collections::HashMap;

use saphyr_parser::{Event, Marker, Parser, ScalarStyle, Span, StrInput, Tag};

use super::{
    DEPTH_MAX, Entry, Node, Position, REPEATED_BYTES_MAX, Value, refuse_too_deep, yaml_scalar,
};
use crate::findings::Findings;

const MERGE_KEY: &str = "<<";

pub(super) fn read(text: &str, findings: &mut Findings) -> Option<Node> {
    let parser = Parser::new_from_str(text);
    let end = end_of(text);
    Reader { parser, end, anchored: HashMap::new(), repeated_bytes: 0, findings }.document()
}

struct Reader<'a, 'f> {
    parser: Parser<'a, StrInput<'a>>,
    /// Behind the last character. What is missing there the parser tells of a line that is none.
    end: Position,
    anchored: HashMap<usize, (Node, Size)>,
    repeated_bytes: usize,
    findings: &'f mut Findings,
}

impl<'a> Reader<'a, '_> {
    fn document(&mut self) -> Option<Node> {
        let mut root = None;
        loop {
            let (event, position) = self.next()?;
            match event {
                Event::StreamEnd => break,
                Event::DocumentStart(_) if root.is_some() => {
                    let root = self.without_fault(root);
                    let message = "a second document begins here; expected one in a file";
                    self.findings.at(position, message);
                    return root;
                }
                Event::Nothing
                | Event::StreamStart
                | Event::DocumentStart(_)
                | Event::DocumentEnd => {}
                Event::Alias(_)
                | Event::Scalar(..)
                | Event::SequenceStart(..)
                | Event::SequenceEnd
                | Event::MappingStart(..)
                | Event::MappingEnd => root = Some(self.node(event, position, 0)?),
            }
        }
        let root = root.unwrap_or_else(|| Position::START.node(Value::Null));
        self.without_fault(Some(root))
    }

    /// A tree with something left out would only bring faults that are none.
    fn without_fault(&self, root: Option<Node>) -> Option<Node> {
        root.filter(|_| self.findings.is_empty())
    }

    fn next(&mut self) -> Option<(Event<'a>, Position)> {
        match self.parser.next_event()? {
            Ok((event, Span { start, .. })) => Some((event, position_of(start).min(self.end))),
            Err(error) => {
                let message = format!("not valid YAML: {}", error.info());
                self.findings.at(position_of(*error.marker()).min(self.end), message);
                None
            }
        }
    }

    fn node(&mut self, event: Event<'a>, position: Position, depth: usize) -> Option<Node> {
        if depth > DEPTH_MAX {
            refuse_too_deep(position, self.findings);
            return None;
        }
        let (value, anchor, tag) = match event {
            Event::Scalar(text, style, anchor, tag) => (scalar(text, style), anchor, tag),
            Event::SequenceStart(anchor, tag) => (self.list(depth)?, anchor, tag),
            Event::MappingStart(anchor, tag) => (self.map(depth)?, anchor, tag),
            Event::Alias(anchor) => return self.repeat(anchor, position, depth),
            Event::Nothing
            | Event::StreamStart
            | Event::StreamEnd
            | Event::DocumentStart(_)
            | Event::DocumentEnd
            | Event::SequenceEnd
            | Event::MappingEnd => {
                self.findings.at(position, "not valid YAML: expected a value");
                return None;
            }
        };
        self.refuse_tag(tag.as_deref(), position);
        let node = position.node(value);
        if anchor > 0 {
            self.anchor(anchor, &node, position)?;
        }
        Some(node)
    }

    fn list(&mut self, depth: usize) -> Option<Value> {
        let mut nodes = Vec::new();
        loop {
            match self.next()? {
                (Event::SequenceEnd, _) => return Some(Value::List(nodes)),
                (event, place) => nodes.push(self.node(event, place, depth.saturating_add(1))?),
            }
        }
    }

    fn map(&mut self, depth: usize) -> Option<Value> {
        let inner = depth.saturating_add(1);
        let mut entries = Vec::new();
        loop {
            let (event, position) = self.next()?;
            if event == Event::MappingEnd {
                return Some(Value::Map(entries));
            }
            let key = self.key(event, position, inner)?;
            let (event, place) = self.next()?;
            let value = self.node(event, place, inner)?;
            entries.push(position.entry(key, value));
        }
    }

    /// A key: any scalar, by its text.
    fn key(&mut self, event: Event<'a>, position: Position, depth: usize) -> Option<String> {
        let key = if let Event::Scalar(text, style, ..) = &event {
            if *style == ScalarStyle::Plain && text == MERGE_KEY {
                let message = "merge keys (`<<`) are not part of YAML 1.2; write the fields out, \
                    or repeat a whole map by an alias";
                self.findings.at(position, message);
            }
            text.clone().into_owned()
        } else {
            self.findings.at(position, "this key is not a plain text; expected a name");
            String::new()
        };
        // Read like a value too: for a tag, an anchor, and the end of a key that is a list or map.
        self.node(event, position, depth)?;
        Some(key)
    }

    fn refuse_tag(&mut self, tag: Option<&Tag>, position: Position) {
        if let Some(tag) = tag {
            let tag = format!("{}{}", tag.handle, tag.suffix).replace("tag:yaml.org,2002:", "!!");
            let message =
                format!("tags such as `{tag}` are not read; remove it, and put a text in quotes");
            self.findings.at(position, message);
        }
    }

    /// Keeps a value for the aliases that come.
    fn anchor(&mut self, anchor: usize, node: &Node, position: Position) -> Option<()> {
        let size = Size::of(node);
        self.count_repeated(size, position)?;
        self.anchored.insert(anchor, (node.clone(), size));
        Some(())
    }

    /// The value an alias stands for: it begins at the alias, while what is inside it keeps its
    /// place.
    fn repeat(&mut self, anchor: usize, position: Position, depth: usize) -> Option<Node> {
        let Some((_, size)) = self.anchored.get(&anchor) else {
            let message =
                "this alias stands inside what it repeats; expected one of a value before";
            self.findings.at(position, message);
            return None;
        };
        let size = *size;
        if depth.saturating_add(size.levels) > DEPTH_MAX {
            refuse_too_deep(position, self.findings);
            return None;
        }
        self.count_repeated(size, position)?;
        let (node, _) = self.anchored.get(&anchor)?;
        Some(position.node(node.value.clone()))
    }

    fn count_repeated(&mut self, size: Size, position: Position) -> Option<()> {
        self.repeated_bytes = self.repeated_bytes.saturating_add(size.bytes);
        if self.repeated_bytes > REPEATED_BYTES_MAX {
            let most = REPEATED_BYTES_MAX >> 20;
            let message =
                format!("anchors and aliases repeat more than {most} MiB; expected less of them");
            self.findings.at(position, message);
            return None;
        }
        Some(())
    }
}

/// How much there is of a value.
#[derive(Clone, Copy)]
struct Size {
    /// About the memory it takes.
    bytes: usize,
    /// How deep lists and maps stand inside it.
    levels: usize,
}

impl Size {
    fn of(node: &Node) -> Self {
        match &node.value {
            Value::Null | Value::Bool(_) => Self::of_one(0),
            Value::Number(text) | Value::Text(text) => Self::of_one(text.len()),
            Value::List(nodes) => nodes.iter().map(Self::of).fold(Self::of_one(0), Self::around),
            Value::Map(entries) => {
                entries.iter().map(Self::of_entry).fold(Self::of_one(0), Self::around)
            }
        }
    }

    fn of_entry(entry: &Entry) -> Self {
        let value = Self::of(&entry.value);
        let bytes = size_of::<Entry>().saturating_add(entry.key.len());
        Self { bytes: bytes.saturating_add(value.bytes), levels: value.levels }
    }

    fn of_one(text_bytes: usize) -> Self {
        Self { bytes: size_of::<Node>().saturating_add(text_bytes), levels: 0 }
    }

    fn around(self, inner: Self) -> Self {
        Self {
            bytes: self.bytes.saturating_add(inner.bytes),
            levels: self.levels.max(inner.levels.saturating_add(1)),
        }
    }
}

fn scalar(text: Cow<'_, str>, style: ScalarStyle) -> Value {
    match style {
        ScalarStyle::Plain => yaml_scalar::resolve(&text),
        ScalarStyle::SingleQuoted
        | ScalarStyle::DoubleQuoted
        | ScalarStyle::Literal
        | ScalarStyle::Folded => Value::Text(text.into_owned()),
    }
}

/// The parser counts lines from 1 and columns, in characters, from 0.
/// The place behind the last character. A line ends with a line feed, a carriage return, or both.
fn end_of(text: &str) -> Position {
    let ends = text.matches(['\n', '\r']).count();
    let lines_before = ends.saturating_sub(text.matches("\r\n").count());
    let last = text.rsplit(['\n', '\r']).next().unwrap_or_default();
    let after = |count: usize| count.saturating_add(1);
    Position { line: after(lines_before), column: after(last.chars().count()) }
}

fn position_of(marker: Marker) -> Position {
    Position { line: marker.line(), column: marker.col().saturating_add(1) }
}
