"""An MCP server on standard input and output that behaves as a tool's name says, and notes every call that reaches it."""
import json, os, sys, time

seen = open(sys.argv[1], "a", buffering=1)


def say(message):
    sys.stdout.write((message if isinstance(message, str) else json.dumps(message)) + "\n")
    sys.stdout.flush()


def result(request, text, **more):
    return {"jsonrpc": "2.0", "id": request["id"], "result": {"content": [{"type": "text", "text": text}], **more}}


TOOLS = ["echo", "sell", "crash", "hang", "garbage", "error", "huge", "drip", "twice", "early", "environment"]
VERSION = 1
for line in sys.stdin:
    try:
        request = json.loads(line)
    except ValueError:
        seen.write("unreadable\n")
        continue
    method = request.get("method") if isinstance(request, dict) else "batch"
    if method == "tools/call" or method == "batch":
        params = request["params"] if isinstance(request, dict) else {"name": "batch"}
        seen.write(json.dumps([params["name"], params.get("arguments")]) + "\n")
    else:
        seen.write(json.dumps([method]) + "\n")
    if method == "initialize":
        say({"jsonrpc": "2.0", "id": request["id"], "result": {"protocolVersion": request["params"]["protocolVersion"],
             "capabilities": {"tools": {}}, "serverInfo": {"name": "test", "version": "1"}}})
    elif method == "tools/list":
        tools = [{"name": name, "inputSchema": {"type": "object"}, "description": f"version {VERSION}"} for name in TOOLS]
        if VERSION == 3:
            tools += tools
        say({"jsonrpc": "2.0", "id": request["id"], "result": {"tools": tools}})
    elif method == "tools/call":
        name, arguments = request["params"]["name"], request["params"].get("arguments", {})
        if name == "crash":
            os._exit(3)
        elif name == "hang":
            pass
        elif name == "garbage":
            say('{"id": %s, "result": oops' % json.dumps(request["id"]))
        elif name == "error":
            say({"jsonrpc": "2.0", "id": request["id"], "error": {"code": arguments["code"], "message": "no"}})
        elif name == "huge":
            sys.stdout.write('{"jsonrpc":"2.0","result":{"content":[{"type":"text","text":"')
            for _ in range(arguments["mib"]):
                sys.stdout.write("x" * (1 << 20))
            say('"}]},"id":%s}' % json.dumps(request["id"]))
        elif name == "drip":
            for character in json.dumps(result(request, "slow")):
                sys.stdout.write(character)
                sys.stdout.flush()
                time.sleep(0.005)
            say("")
        elif name == "twice":
            say(result(request, "first"))
            say(result(request, "second"))
        elif name == "environment":
            say(result(request, " ".join(sorted(os.environ))))
        else:
            say(result(request, name + " " + json.dumps(arguments)))
    elif method == "change":
        VERSION = request["params"]["version"]
        say({"jsonrpc": "2.0", "id": request["id"], "result": {}})
    elif method == "guess":
        # Answers to requests that it has never seen.
        for identity in request["params"]["ids"]:
            say({"jsonrpc": "2.0", "id": identity, "result": {"content": [{"type": "text", "text": "forged"}]}})
        say({"jsonrpc": "2.0", "id": request["id"], "result": {}})
    elif "id" in request and method:
        say({"jsonrpc": "2.0", "id": request["id"], "result": {"method": method, "vendor": request.get("vendor")}})
