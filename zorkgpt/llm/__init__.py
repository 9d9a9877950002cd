"""Language models: one protocol, `messages.LLM`, and a client for OpenAI-compatible servers.

`client.py` sends requests, over the connections of `connection.py`. `wire.py` has the wire format and the dialects of
servers, and `failures.py` decides what their errors mean and when a request is sent again. `cleaning.py` separates
reasoning and marks from an answer, and `structured.py` parses typed answers. `roles.py` lists the roles, `settings.py`
has their models and limits, and `usage.py` counts tokens, cost and what became of the answers. `scripted.py` answers
from a list, for tests, or from a recorded run.
"""
