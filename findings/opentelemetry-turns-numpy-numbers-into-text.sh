#!/usr/bin/env bash
# opentelemetry-sdk 1.45.2 with numpy 2.4.6
# Expected: a NumPy number as an attribute is kept as a number, or dropped with a warning, as in older versions.
# Behavior: it becomes a string, so that a query for reward > 2 no longer finds it. numpy.float64 stays a number, since it
# is a float.
# Output: {'reward': '3', 'mean': 2.5}
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check opentelemetry-sdk==1.45.2 numpy==2.4.6
"$folder/venv/bin/python" - "$folder" <<'PYTHON'
import sys
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

exporter = InMemorySpanExporter()
provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(exporter))
tracer = provider.get_tracer("game")
import numpy

with tracer.start_as_current_span("turn") as span:
    span.set_attribute("reward", numpy.int64(3))
    span.set_attribute("mean", numpy.float64(2.5))
attributes = exporter.get_finished_spans()[0].attributes
seen = {name: (value, isinstance(value, str)) for name, value in attributes.items()}
described = {"reward": ("3", True), "mean": (2.5, False)}
if seen != described:
    sys.exit(f"The behavior changed: {described!r} became {seen!r}")
print(seen)
PYTHON
