"""Text embeddings from the first provider that is installed.

`provider.py` defines the protocol, `choose.py` chooses a provider, and `cache.py` keeps vectors so that no text is
embedded twice.
"""
