//! The ways in which a client can hear of a held call.

use serde_json::Value as Json;

/// The abilities that a client declares. They say what it can show, never who it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Abilities {
    /// It shows a form and sends what was filled in.
    pub(crate) form: bool,
    /// It opens a page on request.
    pub(crate) page: bool,
    /// It asks again for the state of a task.
    pub(crate) tasks: bool,
}

impl Abilities {
    /// From the `capabilities` of an `initialize`, or from those that a request of the later revisions carries.
    pub(crate) fn of(capabilities: &Json) -> Self {
        let elicitation = capabilities.get("elicitation").and_then(Json::as_object);
        let has = |mode: &str| elicitation.is_some_and(|modes| modes.get(mode).is_some_and(Json::is_object));
        // An empty object is from before there were modes, and means forms.
        let is_old =
            elicitation.is_some_and(|modes| !modes.contains_key("form") && !modes.contains_key("url"));
        let tasks = capabilities.pointer("/extensions/io.modelcontextprotocol~1tasks");
        Self { form: has("form") || is_old, page: has("url"), tasks: tasks.is_some_and(Json::is_object) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn abilities_are_read_as_clients_declare_them() {
        let of = |capabilities: Json| {
            let Abilities { form, page, tasks } = Abilities::of(&capabilities);
            (form, page, tasks)
        };
        assert_eq!(of(json!({})), (false, false, false));
        assert_eq!(of(json!({"elicitation": {}})), (true, false, false));
        assert_eq!(of(json!({"elicitation": {"form": {}, "url": {}}})), (true, true, false));
        assert_eq!(of(json!({"elicitation": {"url": {}}})), (false, true, false));
        assert_eq!(of(json!({"elicitation": true, "extensions": []})), (false, false, false));
        assert_eq!(of(json!({"extensions": {"io.modelcontextprotocol/tasks": {}}})), (false, false, true));
    }
}
