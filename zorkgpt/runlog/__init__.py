"""The log of an episode as data: `events.py` defines its events, `episodes.py` writes and reads them.

`story_folder.py` finds and creates the folder of a story.
"""
