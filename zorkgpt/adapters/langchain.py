"""The memory as tools and as a retriever for LangChain."""

from zorkgpt.adapters.tools import MemoryTools
from zorkgpt.extras import importing
from zorkgpt.memory.agent_memory import AgentMemory

with importing("langchain"):
    from langchain_core.callbacks import CallbackManagerForRetrieverRun
    from langchain_core.documents import Document
    from langchain_core.retrievers import BaseRetriever
    from langchain_core.tools import BaseTool, StructuredTool, ToolException


def memory_tools(memory: AgentMemory, *, read_only: bool = False) -> list[BaseTool]:
    """Return the tools for `create_agent(tools=...)`. A refused call returns an error message to the model.

    Args:
        read_only: Only `recall` and `search`.
    """
    tools = MemoryTools(memory, read_only=read_only, refusal=ToolException, as_text=True)
    return [
        StructuredTool.from_function(tool, handle_tool_error=True, handle_validation_error=True) for tool in tools.all
    ]


class MemoryRetriever(BaseRetriever):
    """A retriever of memories as documents, with the text as content and the other fields as metadata.

    The place, id and title are valid arguments for the tools.
    """

    memory: AgentMemory
    limit: int = 5
    """The maximum number of documents."""

    def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun) -> list[Document]:
        found = MemoryTools(self.memory, read_only=True).search(query, self.limit)
        return [
            Document(str(each["text"]), id=str(each["id"]), metadata={k: v for k, v in each.items() if k != "text"})
            for each in found
        ]
