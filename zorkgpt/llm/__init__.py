"""Language models: one protocol, `messages.LLM`, and a client for OpenAI-compatible servers.

`client.py` sends requests and retries them, `wire.py` knows the format and the dialects of servers, `structured.py`
parses typed answers. `roles.py` lists the roles, `settings.py` their models and limits, `usage.py` counts tokens and
cost. `scripted.py` answers from a list, for tests.
"""
