"""Text embeddings from the first installed provider.

`provider.py` defines the protocols of a provider and of a table of vectors. `choose.py` chooses a provider. `matrix.py`
keeps vectors in this process.
"""
