#!/usr/bin/env bash
# openai 3.57.0
# Expected: with retries left, a 429 with a long Retry-After is retried: after that time, or sooner, as in version 1,
# which ignored values over 60 seconds and used their own delay.
# Behavior: the error is raised at once, without a retry. A short Retry-After is retried.
# Output: 1 request for 3600 seconds, 3 requests for 0.01 seconds
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
for headers in ({"retry-after": "3600"}, {"retry-after-ms": "10"}):
    ANSWER = 429, headers, b"{}"
    requests.clear()
    try:
        ask(max_retries=2)
    except openai.RateLimitError:
        seen.append(len(requests))
described = [1, 3]
if seen != described:
    sys.exit(f"The behavior changed: {described!r} became {seen!r}")
print(seen)
PYTHON
