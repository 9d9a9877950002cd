"""Tests of the names that the specification promises.

Code that people write from the specification must run unchanged. These names are public: no clean-up renames or removes
them.
"""
