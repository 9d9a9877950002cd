"""The viewer: a web page that shows a run, live or finished, at any turn. It only reads the files of the run."""
