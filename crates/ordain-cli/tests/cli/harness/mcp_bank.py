"""An MCP server on standard input and output with one tool, `wire_money`. A call leaves the file `wired.txt`."""

import json
import sys

TOOL = {"name": "wire_money", "description": "send money",
        "inputSchema": {"type": "object", "properties": {"to": {"type": "string"}}, "required": ["to"]}}

for line in sys.stdin:
    message = json.loads(line)
    method = message.get("method")
    if "id" not in message:
        continue
    if method == "initialize":
        result = {"protocolVersion": message["params"]["protocolVersion"], "capabilities": {"tools": {}},
                  "serverInfo": {"name": "bank", "version": "1"}}
    elif method == "tools/list":
        result = {"tools": [TOOL]}
    elif method == "tools/call":
        open("wired.txt", "w").close()
        result = {"content": [{"type": "text", "text": "WIRED"}]}
    else:
        result = {}
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
