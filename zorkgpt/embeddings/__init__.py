"""Text embeddings from the first installed provider.

`provider.py` defines the protocol. `choose.py` chooses a provider. `cache.py` caches vectors, so that no text is
embedded twice.
"""
