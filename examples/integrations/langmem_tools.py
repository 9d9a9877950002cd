"""LangMem: its tools work on the LangGraph store. Install it with `pip install 'zorkgpt[langgraph]' langmem`."""

from langmem import create_manage_memory_tool, create_search_memory_tool

from zorkgpt import AgentMemory
from zorkgpt.adapters.langgraph import MemoryBaseStore

with AgentMemory.open("Memories.md") as memory:
    store = MemoryBaseStore(memory)
    manage = create_manage_memory_tool(("users", "{user}"), store=store)
    search = create_search_memory_tool(("users", "{user}"), store=store)
    user = {"configurable": {"user": "ada"}}

    created = manage.invoke({"action": "create", "content": "Ada prefers metric units."}, config=user)
    print(search.invoke({"query": "units"}, config=user))
    key = created.split()[-1]
    manage.invoke({"action": "update", "id": key, "content": "Ada prefers imperial units."}, config=user)
    print(store.get(("users", "ada"), key).value["content"])
    manage.invoke({"action": "delete", "id": key}, config=user)
    print(len(store.search(("users",))))
