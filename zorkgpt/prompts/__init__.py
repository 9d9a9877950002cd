"""The prompts of all roles."""
