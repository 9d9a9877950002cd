"""LlamaIndex: a memory block adds the memories of the agent's place to the chat. The model is LlamaIndex's mock."""

from llama_index.core.llms import ChatMessage, MockLLM
from llama_index.core.memory import Memory

from zorkgpt import AgentMemory
from zorkgpt.adapters.llama_index import PlaceMemoryBlock, memory_tools

CART = "https://shop.example/cart"

with AgentMemory.open("Memories.md") as memory:
    tools = {tool.metadata.name: tool for tool in memory_tools(memory)}
    tools["remember"].call(place=CART, text="The coupon field takes one code only.", title="Coupon")

    block = PlaceMemoryBlock(memory=memory, place_of=lambda: CART)
    chat = Memory.from_defaults(memory_blocks=[block])
    chat.put(ChatMessage("Which coupons can I combine?"))
    print(MockLLM(is_chat_model=True).chat(chat.get()).message.content)
