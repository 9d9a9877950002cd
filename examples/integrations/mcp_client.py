"""MCP: a client starts the server as a command, and calls tools, a resource and a prompt."""

import asyncio
import sys

from mcp import Client, StdioServerParameters

SERVER = StdioServerParameters(command=sys.executable, args=["-m", "zorkgpt", "mcp", "--memories", "Memories.md"])
CART = "https://shop.example/cart"


async def main() -> None:
    async with Client(SERVER) as client:
        await client.call_tool("remember", {"place": CART, "text": "The coupon field takes one code only."})
        print((await client.call_tool("recall", {"place": CART})).content[0].text)
        print((await client.read_resource("memory://places")).contents[0].text)
        print([prompt.name for prompt in (await client.list_prompts()).prompts])


asyncio.run(main())
