"""Exit codes that scripts can use."""

OK = 0
EPISODE_FAILED = 1
"""An episode ended with an error of the model or the interpreter; what was learned is saved."""
BAD_INPUT = 2
"""A file, a setting or an argument can't be used; nothing was changed."""
MODEL_UNREACHABLE = 3
"""The configured model can't be asked."""
INTERRUPTED = 130
"""Ctrl-C; everything is saved."""
