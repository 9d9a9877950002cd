"""The only place that knows of the interpreter."""
