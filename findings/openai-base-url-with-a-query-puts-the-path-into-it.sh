#!/usr/bin/env bash
# openai 3.57.0
# Expected: a query in base_url is kept behind the path of the endpoint, or refused.
# Behavior: the path of the endpoint is appended to the query.
# Output: /v1/?api-version=1chat/completions
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


ANSWER = 200, {"content-type": "application/json"}, b'{"choices": []}'
ask(f"{URL}?api-version=1")
seen = requests
described = ["/v1/?api-version=1chat/completions"]
if seen != described:
    sys.exit(f"The behavior changed: {described!r} became {seen!r}")
print(seen)
PYTHON
