"""The project's parts behind the interfaces of other frameworks, one module for each framework."""
