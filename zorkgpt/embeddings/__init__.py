"""Text embeddings from the first installed provider.

`provider.py` defines the protocol. `choose.py` chooses a provider. `table.py` defines where vectors are stored, and
`matrix.py` stores them in this process.
"""
