"""Credit assignment: which memories the player followed, and whether they worked.

`adherence.py` decides both for one action, and `assignment.py` counts them on the memories and says what the counts
mean.
"""
