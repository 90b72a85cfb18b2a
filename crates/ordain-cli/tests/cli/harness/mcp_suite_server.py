"""A server for the public conformance suite, on the Python SDK: it has the tools, prompts and resources whose names the
suite knows. Its argument is the port."""
import asyncio, json, sys
from typing import Annotated
from mcp.server.mcpserver import Context, MCPServer, RequestStateSecurity
from mcp.server.streamable_http import EventMessage, EventStore
from mcp.shared.exceptions import MCPError
from mcp import types as t
from pydantic import BaseModel, Field, create_model

PIXEL = ("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==")
SILENCE = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQAAAAA="


class Replay(EventStore):
    """Keeps every event, so that a client can come back for those that it missed."""

    def __init__(self):
        self.events = []

    async def store_event(self, stream_id, message):
        self.events.append((stream_id, message))
        return str(len(self.events))

    async def replay_events_after(self, last_event_id, send_callback):
        last = int(last_event_id) if last_event_id.isdigit() else 0
        if not 0 < last <= len(self.events):
            return None
        stream = self.events[last - 1][0]
        for number, (stream_id, message) in enumerate(self.events[last:], last + 1):
            if stream_id == stream and message is not None:
                await send_callback(EventMessage(message, str(number)))
        return stream


server = MCPServer(name="suite", version="1", request_state_security=RequestStateSecurity(keys=[b"k" * 40]))


def tool(function):
    return server.tool(description=function.__name__)(function)


def prompt(function):
    return server.prompt(description=function.__name__)(function)


def text(content):
    return t.TextContent(type="text", text=content)


def image():
    return t.ImageContent(type="image", data=PIXEL, mime_type="image/png")


def embedded(uri, content, kind="text/plain"):
    return t.EmbeddedResource(type="resource", resource=t.TextResourceContents(uri=uri, mime_type=kind, text=content))


def constant(content):
    def answer() -> list:
        return content
    return answer


for name, content in {
    "test_simple_text": [text("This is a simple text response for testing.")],
    "test_image_content": [image()],
    "test_audio_content": [t.AudioContent(type="audio", data=SILENCE, mime_type="audio/wav")],
    "test_embedded_resource": [embedded("test://embedded-resource", "This is an embedded resource content.")],
    "test_multiple_content_types": [
        text("Multiple content types test:"), image(),
        embedded("test://mixed-content-resource", '{"test":"data","value":123}', "application/json")],
}.items():
    server.tool(name=name, description=name, structured_output=False)(constant(content))


@tool
async def test_tool_with_logging(ctx: Context) -> str:
    for step in ("started", "processing", "completed"):
        await ctx.info(f"Tool execution {step}")
        await asyncio.sleep(0.05)
    return "logged"


@tool
async def test_tool_with_progress(ctx: Context) -> str:
    for done in (0, 50, 100):
        await ctx.report_progress(progress=done, total=100, message=f"Completed step {done} of 100")
        await asyncio.sleep(0.05)
    return "done"


@tool
def test_error_handling() -> str:
    raise RuntimeError("This tool intentionally returns an error for testing")


@tool
def test_x_mcp_header(region: Annotated[str, Field(json_schema_extra={"x-mcp-header": "Region"})] = "none") -> str:
    return region


@tool
async def test_missing_capability(ctx: Context) -> str:
    known = ctx.session.client_capabilities
    if known is None or known.sampling is None:
        raise MCPError(code=t.MISSING_REQUIRED_CLIENT_CAPABILITY, message="needs sampling",
                       data={"requiredCapabilities": {"sampling": {}}})
    return "sampling"


@tool
async def test_reconnection(ctx: Context) -> str:
    await ctx.info("before")
    await ctx.close_sse_stream()
    await asyncio.sleep(0.2)
    await ctx.info("after")
    return "came back"


# Questions of the server within a call, as the revisions with sessions have them.
@tool
async def test_sampling(prompt: str, ctx: Context) -> str:
    asked = [t.SamplingMessage(role="user", content=text(prompt))]
    answer = await ctx.session.create_message(messages=asked, max_tokens=100, related_request_id=ctx.request_id)
    return f"LLM response: {answer.content.text}"


async def elicited(ctx, message, schema):
    answer = await ctx.elicit(message=message, schema=schema)
    content = answer.data.model_dump_json() if answer.action == "accept" else "{}"
    return f"action={answer.action}, content={content}"


def field(kind, default=..., **schema):
    return (kind, Field(default=default, json_schema_extra=schema or None))


def titled(*pairs):
    return [{"const": value, "title": title} for value, title in pairs]


Answer = create_model("Answer", response=field(str))
Defaults = create_model(
    "Defaults", name=field(str, "John Doe"), age=field(int, 30), score=field(float, 95.5),
    status=field(str, "active", enum=["active", "inactive", "pending"]), verified=field(bool, True))
Choices = create_model(
    "Choices",
    untitledSingle=field(str, enum=["option1", "option2", "option3"]),
    titledSingle=field(str, oneOf=titled(("value1", "First Option"), ("value2", "Second Option"))),
    legacyEnum=field(str, enum=["opt1", "opt2"], enumNames=["Option One", "Option Two"]),
    untitledMulti=field(list[str], items={"type": "string", "enum": ["option1", "option2"]}),
    titledMulti=field(list[str], items={"anyOf": titled(("value1", "First Choice"), ("value2", "Second Choice"))}))


@tool
async def test_elicitation(message: str, ctx: Context) -> str:
    return await elicited(ctx, message, Answer)


@tool
async def test_elicitation_sep1034_defaults(ctx: Context) -> str:
    return await elicited(ctx, "Please provide user information", Defaults)


@tool
async def test_elicitation_sep1330_enums(ctx: Context) -> str:
    return await elicited(ctx, "Please choose", Choices)


# Questions as results, as the revisions without sessions have them.
def form(message, **properties):
    schema = {"type": "object", "properties": {name: {"type": kind} for name, kind in properties.items()},
              "required": list(properties)}
    return t.ElicitRequest(params=t.ElicitRequestFormParams(message=message, requested_schema=schema))


def sample(prompt):
    asked = [t.SamplingMessage(role="user", content=text(prompt))]
    return t.CreateMessageRequest(params=t.CreateMessageRequestParams(messages=asked, max_tokens=100))


def round_trip(questions, state=None):
    def make():
        async def answer(ctx: Context) -> str | t.InputRequiredResult:
            answers = ctx.input_responses or {}
            if questions.keys() <= answers.keys() and ctx.request_state == state:
                said = json.dumps({name: given.model_dump(mode="json") for name, given in answers.items()})
                return f"state-ok {said}"
            return t.InputRequiredResult(input_requests=questions, request_state=state)
        return answer
    return make()


for name, (questions, state) in {
    "elicitation": ({"user_name": form("What is your name?", name="string")}, None),
    "sampling": ({"capital_question": sample("What is the capital of France?")}, None),
    "list_roots": ({"client_roots": t.ListRootsRequest()}, None),
    "request_state": ({"confirm": form("Please confirm", ok="boolean")}, "first"),
    "tampered_state": ({"confirm": form("Please confirm", ok="boolean")}, "first"),
    "multiple_inputs": ({"user_name": form("What is your name?", name="string"), "greeting": sample("Greet"),
                         "client_roots": t.ListRootsRequest()}, "all"),
}.items():
    server.tool(name=f"test_input_required_result_{name}", description=name)(round_trip(questions, state))


@tool
async def test_input_required_result_multi_round(ctx: Context) -> str | t.InputRequiredResult:
    steps = [("step1", form("Step 1: What is your name?", name="string")),
             ("step2", form("Step 2: What is your favorite color?", color="string"))]
    done = int(ctx.request_state or 0)
    if done and steps[done - 1][0] not in (ctx.input_responses or {}):
        done = 0
    if done == len(steps):
        return "both"
    return t.InputRequiredResult(input_requests=dict([steps[done]]), request_state=str(done + 1))


@tool
async def test_input_required_result_capabilities(ctx: Context) -> t.InputRequiredResult:
    known = ctx.client_capabilities
    questions = {"sample": sample("Say hello")} if known is None or known.sampling is not None else {}
    if known is None or known.elicitation is not None:
        questions["ask"] = form("What is your name?", name="string")
    return t.InputRequiredResult(input_requests=questions, request_state="gated")


# Notes about changes.
@tool
async def test_trigger_tool_change(ctx: Context) -> str:
    server.add_tool(constant([]), name="test_passing_tool")
    server.remove_tool("test_passing_tool")
    await ctx.notify_tools_changed()
    return "changed"


@tool
async def test_trigger_prompt_change(ctx: Context) -> str:
    await ctx.notify_prompts_changed()
    return "changed"


server.tool(name="json_schema_2020_12_tool", description="keywords")(constant([]))
server._tool_manager._tools["json_schema_2020_12_tool"].parameters = {
    "$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object",
    "$defs": {"address": {"$anchor": "addressDef", "type": "object",
                          "properties": {"street": {"type": "string"}, "city": {"type": "string"}}}},
    "properties": {"name": {"type": "string"}, "address": {"$ref": "#/$defs/address"},
                   "contactMethod": {"type": "string", "enum": ["phone", "email"]},
                   "phone": {"type": "string"}, "email": {"type": "string"}},
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]}, "else": {"required": ["email"]}, "additionalProperties": False}


@server.resource("test://static-text")
def static_text() -> str:
    return "This is the content of the static text resource."


@server.resource("test://static-binary")
def static_binary() -> bytes:
    return b"\x89PNG"


@server.resource("test://template/{id}/data")
def template(id: str) -> str:
    return json.dumps({"id": id, "templateTest": True, "data": f"Data for ID: {id}"})


@server.resource("test://watched-resource")
def watched() -> str:
    return "watched"


def said(*content):
    from mcp.server.mcpserver.prompts.base import UserMessage
    return [UserMessage(role="user", content=one) for one in content]


@prompt
def test_simple_prompt() -> list:
    return said(text("This is a simple prompt for testing."))


@prompt
def test_prompt_with_arguments(arg1: str, arg2: str) -> list:
    return said(text(f"Prompt with arguments: arg1='{arg1}', arg2='{arg2}'"))


@prompt
def test_prompt_with_embedded_resource(resourceUri: str) -> list:
    return said(embedded(resourceUri, "Embedded resource content for testing."), text("Process it."))


@prompt
def test_prompt_with_image() -> list:
    return said(image(), text("Please analyze the image above."))


@prompt
async def test_input_required_result_prompt(ctx: Context) -> list | t.InputRequiredResult:
    if "user_context" in (ctx.input_responses or {}):
        return said(text(f"Use {ctx.input_responses['user_context'].content}"))
    return t.InputRequiredResult(input_requests={"user_context": form("What context?", context="string")})


async def nothing(ctx, params) -> t.EmptyResult:
    return t.EmptyResult()


for method, params in {"logging/setLevel": t.SetLevelRequestParams, "resources/subscribe": t.SubscribeRequestParams,
                       "resources/unsubscribe": t.UnsubscribeRequestParams}.items():
    server._lowlevel_server.add_request_handler(method, params, nothing)


@server.completion()
async def complete(ref, argument, context) -> t.Completion:
    return t.Completion(values=[], total=0, has_more=False)


server.run(transport="streamable-http", port=int(sys.argv[1]), event_store=Replay(), retry_interval=100)
