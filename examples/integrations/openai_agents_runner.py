"""OpenAI Agents SDK: the runner lets a scripted model call the tools."""

import asyncio
import json

from agents import Agent, Model, ModelResponse, RunConfig, Runner, Usage
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

from zorkgpt import AgentMemory
from zorkgpt.adapters.openai_agents import memory_instructions, memory_tools

CART = "https://shop.example/cart"
CALL = {"call_id": "1", "name": "recall", "arguments": json.dumps({"place": CART}), "type": "function_call"}


class Scripted(Model):
    async def get_response(self, system_instructions, input, *args, **kwargs):
        if isinstance(input, list) and len(input) > 1:
            text = ResponseOutputText(text=input[-1]["output"], type="output_text", annotations=[])
            said = ResponseOutputMessage(id="1", content=[text], role="assistant", status="completed", type="message")
            return ModelResponse([said], Usage(), None)
        return ModelResponse([ResponseFunctionToolCall(**CALL)], Usage(), None)

    def stream_response(self, *args, **kwargs):
        raise NotImplementedError


async def main() -> None:
    with AgentMemory.open("Memories.md") as memory:
        memory.remember(CART, "The coupon field takes one code only.", title="Coupon")
        agent = Agent(
            name="buyer",
            instructions=memory_instructions(memory, lambda context: context["url"]),
            tools=memory_tools(memory),
            model=Scripted(),
        )
        config = RunConfig(tracing_disabled=True)
        result = await Runner.run(agent, "Which coupons can I combine?", context={"url": CART}, run_config=config)
        print(result.final_output)


asyncio.run(main())
