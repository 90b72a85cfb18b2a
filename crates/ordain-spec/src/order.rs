//! Checks for lists that have one right order.

use crate::node::Node;
use crate::path::shorten;
use crate::rule::Findings;
use ordain_canon::compare_utf16;
use std::cmp::Ordering;

/// Reports the first element that stands before its predecessor; elements without a key are passed over.
pub(crate) fn check_order<'v, K>(
    list: Node<'_, 'v>,
    key: impl Fn(Node<'_, 'v>) -> Option<K>,
    compare: impl Fn(&K, &K) -> Ordering,
    by: &str,
    found: &mut Findings,
) {
    let mut last: Option<K> = None;
    for element in list.elements() {
        let Some(key) = key(element) else { continue };
        if last.as_ref().is_some_and(|last| compare(last, &key) == Ordering::Greater) {
            found.at(element, format!("out of order: the list is sorted by {by}"));
            return;
        }
        last = Some(key);
    }
}

/// Reports the first string that stands before its predecessor, and every string that is there twice.
pub(crate) fn check_strings(list: Node<'_, '_>, distinct: bool, found: &mut Findings) {
    check_order(list, |element| element.str(), |left, right| compare_utf16(left, right), "its text", found);
    if distinct {
        check_distinct(list, |element| element.str(), None, found);
    }
}

/// Reports every element whose key an earlier element has; at the element, or at its field that holds the key.
pub(crate) fn check_distinct<'v>(
    list: Node<'_, 'v>,
    key: impl Fn(Node<'_, 'v>) -> Option<&'v str>,
    field: Option<&'v str>,
    found: &mut Findings,
) {
    let mut keys: Vec<(&str, usize)> = Vec::new();
    for (position, element) in list.elements().enumerate() {
        keys.extend(key(element).map(|key| (key, position)));
    }
    keys.sort_unstable();
    let mut twice: Vec<usize> = Vec::new();
    for pair in keys.windows(2) {
        if let [(left, _), (right, position)] = pair
            && left == right
        {
            twice.push(*position);
        }
    }
    twice.sort_unstable();
    let mut twice = twice.into_iter().peekable();
    for (position, element) in list.elements().enumerate() {
        if twice.next_if_eq(&position).is_some() {
            let message = format!("`{}` is there twice", key(element).map(shorten).unwrap_or_default());
            match field {
                Some(field) => found.at(element.get(field), message),
                None => found.at(element, message),
            }
        }
    }
}
