"""Credit assignment: which memories the player followed, and whether they worked.

`adherence.py` decides both for one action, `assignment.py` counts them on the memories, and `reliability.py` says
what the counts mean.
"""
