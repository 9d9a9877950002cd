#!/usr/bin/env bash
# opentelemetry-sdk 1.45.2
# Expected: a span that an exception leaves has the status ERROR and an event "exception".
# Behavior: not if it is a KeyboardInterrupt or SystemExit. A run that was stopped with Ctrl+C looks like one that finished.
# Output: ERROR with 1 event for ValueError, UNSET with 0 events for KeyboardInterrupt
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check opentelemetry-sdk==1.45.2
"$folder/venv/bin/python" - "$folder" <<'PYTHON'
import sys
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

exporter = InMemorySpanExporter()
provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(exporter))
tracer = provider.get_tracer("game")
for error in (ValueError, KeyboardInterrupt):
    try:
        with tracer.start_as_current_span("turn"):
            raise error
    except BaseException:
        pass
seen = [(span.status.status_code.name, len(span.events)) for span in exporter.get_finished_spans()]
described = [("ERROR", 1), ("UNSET", 0)]
if seen != described:
    sys.exit(f"The behavior changed: {described!r} became {seen!r}")
print(seen)
PYTHON
