"""LangChain: a retriever fills the prompt, and the model calls a tool. The model is scripted."""

from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, ToolCall

from zorkgpt import AgentMemory
from zorkgpt.adapters.langchain import MemoryRetriever, memory_tools

CART = "https://shop.example/cart"

with AgentMemory.open("Memories.md") as memory:
    memory.remember(CART, "The coupon field takes one code only.", title="Coupon")
    tools = {tool.name: tool for tool in memory_tools(memory)}
    call = ToolCall(name="recall", args={"place": CART}, id="1")
    model = GenericFakeChatModel(messages=iter([AIMessage("", tool_calls=[call]), AIMessage("Use one code.")]))

    notes = MemoryRetriever(memory=memory).invoke("coupon code")
    messages = [("system", notes[0].page_content), ("human", "Which coupons can I combine?")]
    answer = model.invoke(messages)
    result = tools["recall"].invoke(answer.tool_calls[0])
    print(result.content)
    print(model.invoke([*messages, answer, result]).content)
