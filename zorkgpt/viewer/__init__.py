"""The viewer: a web page that shows a run, live or finished, at any turn, from the files of the run.

`app.py` has the routes, `answers.py` the answers, and `run_files.py` reads the files incrementally. `export.py`
writes page and answers into one HTML file. The page itself is in `static/`.
"""
