"""Buckets of an S3 server on this machine: moto, in a process of its own."""

from __future__ import annotations

import atexit
import socket
import subprocess
import sys
import time
import urllib.request
from functools import lru_cache
from itertools import count
from typing import Any, Final

from geode.entrypoints.compliance.shipped import ObjectResultsHarness

PATIENCE_SECONDS: Final = 60.0
_numbers = count(1)


@lru_cache(maxsize=1)
def server() -> str:
    """The address of the server, which is started once and ends with this process."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    atexit.register(process.kill)
    until = time.monotonic() + PATIENCE_SECONDS
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            assert process.poll() is None, "the S3 server has ended"
            assert time.monotonic() < until, "the S3 server does not listen"
            time.sleep(0.05)
        else:
            return f"http://127.0.0.1:{port}"


class S3ResultsHarness(ObjectResultsHarness):
    """A bucket of its own for each."""

    def bucket(self) -> Any:
        from obstore.store import S3Store

        name = f"results-{next(_numbers)}"
        urllib.request.urlopen(urllib.request.Request(f"{server()}/{name}", method="PUT"), timeout=PATIENCE_SECONDS).close()
        return S3Store(
            name,
            endpoint=server(),
            region="us-east-1",
            access_key_id="none",
            secret_access_key="none",
            virtual_hosted_style_request=False,
            client_options={"allow_http": True},
        )
