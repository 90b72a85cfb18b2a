"""Runs a coding agent against a scripted model, with loopback as its only network.

usage: agent_stage.py WIRE STEPS RESULTS -- COMMAND...

WIRE is `anthropic`, `openai` (responses), `chat` (completions) or `gemini`. STEPS is a JSON file: {"main": [...], "sub": [...]}; each step is a list of calls that the model makes
at once: {"name", "input"}, for OpenAI also {"item": ...} verbatim. The conversation whose prompt has ORDAINTEST takes the steps of
`main`, one with SUBTEST alone those of `sub`. RESULTS gets one JSON list: the texts that the model was told after each call of `main`.
`{port}` in COMMAND is the model's port.
"""

import fcntl
import http.server
import json
import os
import socket
import struct
import subprocess
import sys
import threading

wire, steps_file, results_file = sys.argv[1:4]
command = sys.argv[5:]
steps = json.load(open(steps_file))
USAGE = {"input_tokens": 1, "input_tokens_details": None, "output_tokens": 1, "output_tokens_details": None,
         "total_tokens": 2}


def loopback_up():
    with socket.socket() as any_socket:
        fcntl.ioctl(any_socket, 0x8914, struct.pack("16sh", b"lo", 0x1 | 0x40))


def next_calls(kind, told):
    for at, group in enumerate(steps.get(kind, [])):
        if told < len(group):
            return [(f"call_{kind}_{at}_{number}", call) for number, call in enumerate(group)]
        told -= len(group)
    return None


def kind_of(text, has_tools):
    if not has_tools:
        return None
    if "ORDAINTEST" in text:
        return "main"
    return "sub" if "SUBTEST" in text else None


def flat(content):
    if isinstance(content, list):
        return "".join(flat(part.get("text", part.get("content", ""))) for part in content)
    return str(content)


def keep(results):
    with open(results_file + ".new", "w") as file:
        json.dump(results, file)
    os.rename(results_file + ".new", results_file)


class Model(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers.get("content-length", 0))) or b"{}")
        if wire == "gemini":
            self.gemini(request)
        elif "/chat/completions" in self.path:
            self.chat(request)
        elif "/messages" in self.path and "count_tokens" not in self.path:
            self.anthropic(request)
        elif "/responses" in self.path:
            self.openai(request)
        else:
            self.answer({"input_tokens": 1})

    def do_GET(self):
        self.answer({"data": [], "models": []})

    do_HEAD = do_GET

    def answer(self, body):
        data = json.dumps(body).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def events(self, events):
        data = "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events).encode()
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def anthropic(self, request):
        messages = request.get("messages", [])
        kind = kind_of(json.dumps(messages), bool(request.get("tools")))
        blocks = [block for message in messages if isinstance(message["content"], list)
                  for block in message["content"] if block.get("type") == "tool_result"]
        if kind == "main":
            keep([flat(block.get("content", "")) for block in blocks])
        calls = next_calls(kind, len(blocks)) if kind else None
        content = [{"type": "text", "text": "DONE"}]
        if calls:
            content = [{"type": "tool_use", "id": "toolu_" + name, "name": call["name"], "input": call["input"]}
                       for name, call in calls]
        stop = "tool_use" if calls else "end_turn"
        usage = {"input_tokens": 1, "output_tokens": 1}
        head = {"id": "msg", "type": "message", "role": "assistant", "model": request.get("model", "m"),
                "content": [], "stop_reason": None, "stop_sequence": None, "usage": usage}
        if not request.get("stream"):
            self.answer({**head, "content": content, "stop_reason": stop})
            return
        events = [{"type": "message_start", "message": head}]
        for index, block in enumerate(content):
            if block["type"] == "text":
                start, delta = {**block, "text": ""}, {"type": "text_delta", "text": block["text"]}
            else:
                start = {**block, "input": {}}
                delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
            events += [{"type": "content_block_start", "index": index, "content_block": start},
                       {"type": "content_block_delta", "index": index, "delta": delta},
                       {"type": "content_block_stop", "index": index}]
        events += [{"type": "message_delta", "delta": {"stop_reason": stop, "stop_sequence": None}, "usage": usage},
                   {"type": "message_stop"}]
        self.events(events)

    def openai(self, request):
        items = request.get("input", [])
        kind = kind_of(json.dumps(items), bool(request.get("tools")))
        outputs = [item for item in items if str(item.get("type", "")).endswith("_output")]
        if kind == "main":
            keep([flat(item.get("output", "")) for item in outputs])
        calls = next_calls(kind, len(outputs)) if kind else None
        text = {"type": "output_text", "text": "DONE"}
        made = [{"type": "message", "role": "assistant", "id": "item", "content": [text]}]
        if calls:
            made = [{**call["item"], "id": "item_" + name, "call_id": name} if "item" in call else
                    {"type": "function_call", "id": "item_" + name, "call_id": name, "name": call["name"],
                     "arguments": json.dumps(call["input"])} for name, call in calls]
        done = [{"type": "response.output_item.done", "output_index": index, "item": item}
                for index, item in enumerate(made)]
        self.events([{"type": "response.created", "response": {"id": "response"}}, *done,
                     {"type": "response.completed", "response": {"id": "response", "usage": USAGE}}])

    def chat(self, request):
        messages = request.get("messages", [])
        kind = kind_of(json.dumps(messages), bool(request.get("tools")))
        told = [flat(message.get("content", "")) for message in messages if message["role"] == "tool"]
        if kind == "main":
            keep(told)
        calls = next_calls(kind, len(told)) if kind else None
        message = {"role": "assistant", "content": "DONE"}
        if calls:
            made = [{"index": index, "id": name, "type": "function",
                     "function": {"name": call["name"], "arguments": json.dumps(call["input"])}}
                    for index, (name, call) in enumerate(calls)]
            message = {"role": "assistant", "content": None, "tool_calls": made}
        end = "tool_calls" if calls else "stop"
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        head = {"id": "chat", "created": 1, "model": request.get("model", "m")}
        if not request.get("stream"):
            choice = {"index": 0, "message": message, "finish_reason": end}
            self.answer({**head, "object": "chat.completion", "choices": [choice], "usage": usage})
            return
        chunk = {**head, "object": "chat.completion.chunk"}
        self.lines([{**chunk, "choices": [{"index": 0, "delta": message, "finish_reason": None}]},
                    {**chunk, "choices": [{"index": 0, "delta": {}, "finish_reason": end}]},
                    {**chunk, "choices": [], "usage": usage}], "[DONE]")

    def gemini(self, request):
        contents = request.get("contents", [])
        kind = kind_of(json.dumps(contents), bool(request.get("tools")))
        responses = [part["functionResponse"] for content in contents for part in content.get("parts", [])
                     if "functionResponse" in part]
        if kind == "main":
            keep([json.dumps(response.get("response", "")) for response in responses])
        calls = next_calls(kind, len(responses)) if kind else None
        parts = [{"text": "DONE"}]
        if calls:
            parts = [{"functionCall": {"name": call["name"], "args": call["input"]}} for _, call in calls]
        candidate = {"content": {"role": "model", "parts": parts}, "finishReason": "STOP", "index": 0}
        usage = {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2}
        if "countTokens" in self.path:
            self.answer({"totalTokens": 1})
        elif "stream" in self.path:
            self.lines([{"candidates": [candidate], "usageMetadata": usage}])
        else:
            self.answer({"candidates": [candidate], "usageMetadata": usage})

    def lines(self, chunks, last=None):
        data = "".join(f"data: {text}\r\n\r\n" for text in [json.dumps(chunk) for chunk in chunks] + ([last] if last else []))
        data = data.encode()
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        pass


loopback_up()
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Model)
threading.Thread(target=server.serve_forever, daemon=True).start()
port = str(server.server_address[1])
ended = subprocess.run([word.replace("{port}", port) for word in command], stdin=subprocess.DEVNULL)
sys.exit(ended.returncode)
