"""Text embeddings by whichever provider is installed."""
