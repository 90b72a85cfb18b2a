"""The Python SDK as the client that the public conformance suite tests: it lists the tools of the server whose URL is the
last argument, and calls each. With GATEWAY, it starts that gateway in front of the server and talks to it instead."""
import asyncio, json, os, subprocess, sys
import httpx2
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client
from mcp import types as t

url, scenario = sys.argv[-1], os.environ.get("MCP_CONFORMANCE_SCENARIO", "")
context = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT") or "{}")
LEGACY = {"initialize", "elicitation-sep1034-client-defaults", "sse-retry"}


def example(schema):
    if "default" in schema or "enum" in schema or "const" in schema:
        return schema.get("default", schema.get("const", schema.get("enum", [None])[0]))
    kinds = {"string": "text", "integer": 3, "number": 4, "boolean": True, "array": [],
             "object": {name: example(inner) for name, inner in schema.get("properties", {}).items()}}
    return kinds.get(schema.get("type"))


async def elicited(_, params):
    said = params.model_dump(mode="json", by_alias=True, exclude_none=True)
    return t.ElicitResult(action="accept", content=example(said.get("requestedSchema", {})) or {})


async def main():
    target, headers, gateway = url, {}, None
    if words := json.loads(os.environ.get("GATEWAY") or "null"):
        gateway = subprocess.Popen([*words, "--url", url], stdout=subprocess.PIPE, text=True)
        target = gateway.stdout.readline().split()[-1]
        headers["authorization"] = f"Bearer {os.environ['TOKEN']}"
    legacy = scenario in LEGACY or os.environ.get("MCP_CONFORMANCE_PROTOCOL_VERSION", "").startswith("2025")
    transport = streamable_http_client(target, http_client=httpx2.AsyncClient(headers=headers, timeout=20))
    try:
        async with Client(transport, mode="legacy" if legacy else "auto", elicitation_callback=elicited) as client:
            tools = (await client.list_tools()).tools
            calls = context.get("toolCalls") or [
                {"name": tool.name, "arguments": example({**tool.input_schema, "type": "object"})} for tool in tools]
            for call in calls:
                try:
                    await client.call_tool(call["name"], call.get("arguments") or {})
                except Exception as error:
                    print(call["name"], error, file=sys.stderr)
    finally:
        if gateway:
            gateway.terminate()
            gateway.wait()


asyncio.run(main())
