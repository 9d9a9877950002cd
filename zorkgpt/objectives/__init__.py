"""What is being pursued, across turns and episodes, and how one can tell that it is done."""
