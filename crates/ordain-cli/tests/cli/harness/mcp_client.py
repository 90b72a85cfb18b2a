"""The Python SDK as a client: each line of standard input is a tool and its arguments, each line of standard output its result."""
import asyncio, json, sys
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client


async def main():
    server = StdioServerParameters(command=sys.argv[1], args=sys.argv[2:])
    async with stdio_client(server) as (read, write), ClientSession(read, write) as session:
        await session.initialize()
        tools = await session.list_tools()
        print(json.dumps([tool.name for tool in tools.tools]), flush=True)
        for line in sys.stdin:
            name, arguments = json.loads(line)
            answer = await session.call_tool(name, arguments)
            print(json.dumps({"error": answer.is_error, "text": answer.content[0].text}), flush=True)


asyncio.run(main())
