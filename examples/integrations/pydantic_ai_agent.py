"""Pydantic AI: an agent calls a tool of the memory. The model is Pydantic AI's own for tests."""

from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from zorkgpt import AgentMemory
from zorkgpt.adapters.pydantic_ai import MemoryToolset

CART = "https://shop.example/cart"


def model(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    if len(messages) == 1:
        return ModelResponse(parts=[ToolCallPart("recall", {"place": CART})])
    return ModelResponse(parts=[TextPart(str(messages[-1].parts[0].content))])


with AgentMemory.open("Memories.md") as memory:
    memory.remember(CART, "The coupon field takes one code only.", title="Coupon")
    agent = Agent(FunctionModel(model), toolsets=[MemoryToolset(memory)])
    print(agent.run_sync("Which coupons can I combine?").output)
