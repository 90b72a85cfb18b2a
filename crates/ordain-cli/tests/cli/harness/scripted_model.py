"""A language model with a script: speaks the Responses wire of OpenAI on a port of this machine.

usage: scripted_model.py PORT_FILE ANSWERS

ANSWERS is a list of [words, command]. The model asks for the command of the first entry whose words stand in the
conversation, once, and then says that it is done.
"""

import http.server
import json
import os
import sys

ANSWERS = json.loads(sys.argv[2])
USAGE = {"input_tokens": 1, "input_tokens_details": None, "output_tokens": 1, "output_tokens_details": None,
         "total_tokens": 2}


class Model(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        request = self.rfile.read(int(self.headers["content-length"])).decode()
        items = json.loads(request)["input"]
        if any(str(item.get("type", "")).endswith("_output") for item in items):
            text = {"type": "output_text", "text": "Done."}
            item = {"type": "message", "role": "assistant", "id": "item", "content": [text]}
        else:
            command = next(command for words, command in ANSWERS if words in request)
            item = {"type": "function_call", "id": "item", "call_id": "call", "name": "exec_command",
                    "arguments": json.dumps({"cmd": command})}
        events = [
            {"type": "response.created", "response": {"id": "response"}},
            {"type": "response.output_item.done", "output_index": 0, "item": item},
            {"type": "response.completed", "response": {"id": "response", "usage": USAGE}},
        ]
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        for event in events:
            self.wfile.write(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode())

    def do_GET(self):
        self.send_response(404)
        self.end_headers()

    def log_message(self, *_):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Model)
with open(sys.argv[1] + ".new", "w") as file:
    file.write(f"{server.server_address[1]}\n")
os.rename(sys.argv[1] + ".new", sys.argv[1])
server.serve_forever()
