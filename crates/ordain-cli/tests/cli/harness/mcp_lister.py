"""An MCP server that lists whatever stands in the files of a folder, byte for byte, and notes every call."""
import json, os, sys

folder = sys.argv[1]


def text(name):
    path = os.path.join(folder, name)
    return open(path, encoding="utf-8", newline="").read() if os.path.exists(path) else None


def say(line):
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


for line in sys.stdin:
    request = json.loads(line)
    method, identity = request.get("method"), json.dumps(request.get("id"))
    if method == "initialize":
        result = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {"listChanged": True}},
                  "serverInfo": {"name": "lister", "version": "1"}}
        if text("instructions") is not None:
            result["instructions"] = text("instructions")
        say('{"jsonrpc":"2.0","id":%s,"result":%s}' % (identity, json.dumps(result)))
    elif method == "tools/list":
        for _ in range(int(text("storm") or 0)):
            say('{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}')
        cursor = (request.get("params") or {}).get("cursor")
        result = text("list." + cursor) if cursor else text("list")
        say('{"jsonrpc":"2.0","id":%s,"result":%s}' % (identity, result))
    elif method == "tools/call":
        with open(os.path.join(folder, "seen"), "a") as seen:
            seen.write(request["params"]["name"] + "\n")
        content = {"content": [{"type": "text", "text": text("answer") or request["params"]["name"]}]}
        say('{"jsonrpc":"2.0","id":%s,"result":%s}' % (identity, json.dumps(content)))
