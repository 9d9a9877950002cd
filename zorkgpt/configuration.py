"""The settings of a run, importable from the installed package too."""

from session.game_configuration import GameConfiguration

__all__ = ["GameConfiguration"]
