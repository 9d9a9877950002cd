"""The viewer: a web page that shows a run at any turn, live or finished. It reads only the files of the run.

`app.py` has the routes and `answers.py` the answers. `run_files.py` reads the files incrementally. `export.py` writes
the page and all answers to one HTML file. The page itself is in `static/`.
"""
