#!/usr/bin/env bash
# openai 3.57.0
# Expected: the text of an APIStatusError contains the body of the answer, or at least its message.
# Behavior: only error.message is read. If "error" is a string, as from some local servers, or the body is plain text,
# the text is "Error code: 400" alone. The string is only in the attribute `body`, and the other fields only in `response`.
# Output: "Error code: 400" and the body "model not found", but "Error code: 400 - model not found" for an object
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check openai==3.57.0
"$folder/venv/bin/python" - "$folder" <<'PYTHON'
import sys
import http.server
import threading

import openai

ANSWER = None
requests = []


class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        requests.append(self.path)
        self.rfile.read(int(self.headers["content-length"]))
        status, headers, body = ANSWER
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
URL = f"http://127.0.0.1:{server.server_address[1]}/v1"


def ask(url=URL, max_retries=0, **options):
    client = openai.OpenAI(api_key="none", base_url=url, max_retries=max_retries)
    return client.chat.completions.create(model="m", messages=[{"role": "user", "content": "look"}], **options)


seen = []
for body in (b'{"error": "model not found", "hint": "pull it"}', b'{"error": {"message": "model not found"}}'):
    ANSWER = 400, {"content-type": "application/json"}, body
    try:
        ask()
    except openai.BadRequestError as error:
        seen += [str(error), error.body]
described = [
    "Error code: 400",
    "model not found",
    "Error code: 400 - model not found",
    {"message": "model not found"},
]
if seen != described:
    sys.exit(f"The behavior changed: {described!r} became {seen!r}")
print(seen)
PYTHON
