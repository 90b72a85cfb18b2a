//! A place in a document: a value that may be missing, and the way to it.

use ordain_canon::{Value, push_pointer_token};

/// A value and where it stands. Looking for something that is not there gives a node that is missing, so that
/// every rule can run on every document.
#[derive(Clone, Copy)]
pub struct Node<'p, 'v> {
    value: Option<&'v Value<'v>>,
    /// `None` at the root.
    way: Option<(&'p Node<'p, 'v>, Step<'v>)>,
}

#[derive(Clone, Copy)]
enum Step<'v> {
    Key(&'v str),
    Index(usize),
}

impl<'p, 'v> Node<'p, 'v> {
    /// The document itself.
    pub(crate) fn root(value: &'v Value<'v>) -> Self {
        Self { value: Some(value), way: None }
    }

    /// The member of an object.
    pub(crate) fn get<'s>(&'s self, key: &'v str) -> Node<'s, 'v> {
        Node { value: self.value.and_then(|value| value.get(key)), way: Some((self, Step::Key(key))) }
    }

    /// The elements of an array; nothing if it is none.
    pub(crate) fn elements<'s>(
        &'s self,
    ) -> impl DoubleEndedIterator<Item = Node<'s, 'v>> + ExactSizeIterator {
        let elements = self.value.and_then(Value::as_array).unwrap_or_default();
        elements
            .iter()
            .enumerate()
            .map(move |(index, value)| Node { value: Some(value), way: Some((self, Step::Index(index))) })
    }

    /// The keys and members of an object; nothing if it is none.
    pub(crate) fn members<'s>(&'s self) -> impl Iterator<Item = (&'v str, Node<'s, 'v>)> {
        let members = self.value.and_then(Value::as_object).unwrap_or_default();
        members.iter().map(move |(key, value)| {
            (key.as_ref(), Node { value: Some(value), way: Some((self, Step::Key(key))) })
        })
    }

    pub(crate) fn value(&self) -> Option<&'v Value<'v>> {
        self.value
    }

    pub(crate) fn is_missing(&self) -> bool {
        self.value.is_none()
    }

    pub(crate) fn str(&self) -> Option<&'v str> {
        self.value?.as_str()
    }

    pub(crate) fn integer(&self) -> Option<i64> {
        self.value?.as_integer()
    }

    pub(crate) fn bool(&self) -> Option<bool> {
        self.value?.as_bool()
    }

    pub(crate) fn array(&self) -> Option<&'v [Value<'v>]> {
        self.value?.as_array()
    }

    /// The JSON Pointer (RFC 6901).
    pub(crate) fn pointer(&self) -> String {
        let mut pointer = String::new();
        self.push_pointer(&mut pointer);
        pointer
    }

    fn push_pointer(&self, pointer: &mut String) {
        let Some((parent, step)) = self.way else { return };
        parent.push_pointer(pointer);
        match step {
            Step::Key(key) => push_pointer_token(pointer, key),
            Step::Index(index) => push_pointer_token(pointer, &index.to_string()),
        }
    }
}
