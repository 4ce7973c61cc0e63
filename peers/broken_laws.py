"""Run with geode's own interpreter: exchanges as JSON lines on stdin, how often each law is broken as JSON on stdout."""

from __future__ import annotations

import json
import sys
from collections import Counter

from geode.entrypoints.emulator import laws

found = Counter(
    f"{sent['client']} {sent['protocol']} {law}"
    for sent in map(json.loads, sys.stdin)
    # A request that points to a history shows results without their calls.
    if not sent["request"].get("previous_response_id")
    for law in {one.rule for one in laws(sent["protocol"], sent["request"])}
)
print(json.dumps(dict(sorted(found.items()))))
