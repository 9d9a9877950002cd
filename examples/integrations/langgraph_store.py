"""LangGraph: the store of a graph's long-term memory, with items that expire."""

from zorkgpt import AgentMemory
from zorkgpt.adapters.langgraph import MemoryBaseStore

with AgentMemory.open("Memories.md") as memory:
    store = MemoryBaseStore(memory, ttl={"default_ttl": 60, "refresh_on_read": True})
    store.put(("shop", "cart"), "Coupon", {"text": "The coupon field takes one code only."}, ttl=None)
    store.put(("shop", "cart"), "limits", {"items": 20, "currency": "EUR"})
    for item in store.search(("shop",), query="coupon code"):
        print(item.namespace, item.key, item.value["text"])
    print(store.get(("shop", "cart"), "limits").value["items"])
    print(memory.recall(("shop", "cart")))
