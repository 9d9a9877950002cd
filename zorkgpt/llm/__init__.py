"""Language models: one protocol, `messages.LLM`, and a client for OpenAI-compatible servers.

`client.py` sends requests and retries them. `wire.py` has the wire format and the dialects of servers. `structured.py`
parses typed answers. `roles.py` lists the roles, `settings.py` has their models and limits, and `usage.py` counts
tokens and cost. `scripted.py` answers from a list, for tests.
"""
