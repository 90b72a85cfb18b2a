"""The Python SDK as a client that can hear of holds: `mcp_holding_client.py ERA ANSWER URL TOKEN` or `… ERA ANSWER -- CMD…`.
Each line of standard input is a tool and its arguments; each line of standard output is a question that it was asked, a
note about progress, or a result. ANSWER is what it says to questions: `open` also opens the page of the question."""
import asyncio, json, sys, urllib.request
import httpx2
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp import types as t

era, answer, *target = sys.argv[1:]


def say(**what):
    print(json.dumps(what), flush=True)


async def asked(context, params):
    said = params.model_dump(mode="json", by_alias=True, exclude_none=True)
    say(asked=said)
    if answer == "open":
        await asyncio.to_thread(lambda: urllib.request.urlopen(said["url"]).read())
    await asyncio.sleep(1)
    if answer == "decline":
        return t.ElicitResult(action="decline")
    content = {"next": "wait"} if said.get("mode") != "url" else None
    return t.ElicitResult(action="accept", content=content)


async def noted(progress, total, message):
    say(progress=progress, message=message)


async def main():
    if target[0] == "--":
        transport = stdio_client(StdioServerParameters(command=target[1], args=target[2:]))
    else:
        headers = {"authorization": f"Bearer {target[1]}"}
        timeout = httpx2.Timeout(30, read=120)
        transport = streamable_http_client(target[0], http_client=httpx2.AsyncClient(headers=headers, timeout=timeout))
    callback = None if answer == "none" else asked
    async with Client(transport, mode=era, elicitation_callback=callback) as client:
        tools = await client.list_tools()
        say(tools=[tool.name for tool in tools.tools], revision=client.session.protocol_version)
        while line := await asyncio.to_thread(sys.stdin.readline):
            name, arguments = json.loads(line)
            try:
                result = await client.call_tool(name, arguments, progress_callback=noted)
                say(error=result.is_error, text=result.content[0].text)
            except Exception as error:
                say(raised=f"{type(error).__name__}: {error}")


asyncio.run(main())
