"""How hard Hypothesis tries, the witness of every request, and the guard of every secret.

`ci` draws the same examples every time, so a red run is red for its change and not by chance; `dev`
draws new ones and remembers what failed; `explore` is a long search, by hand:

    HYPOTHESIS_PROFILE=explore .venv/bin/pytest tests/unit/domain
"""

import contextlib
import os
import signal
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any, Final
from weakref import WeakKeyDictionary

import pytest
from hypothesis import HealthCheck, settings

from geode.entrypoints import places
from geode.entrypoints.emulator import Emulator, laws

# A secret that is there for the whole run, and the key that the adapters of the contracts have: no test may print or
# log either.
CANARY: Final = "sk-canary-of-the-whole-run-5d1f"
SECRETS: Final = (CANARY, "the-key-of-the-lab")
os.environ["LAB_CANARY_API_KEY"] = CANARY

# A shell starts what runs in its background with Ctrl-C ignored, and so would everything that tests start in turn.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# A shared machine stalls now and then: time limits of single examples would fail by chance.
settings.register_profile(
    "ci", derandomize=True, database=None, deadline=None, print_blob=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("dev", deadline=None)
settings.register_profile("explore", deadline=None, max_examples=5_000)

settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE") or ("ci" if os.environ.get("CI") else "dev"))


def _is_in_this_folder() -> bool:
    with contextlib.suppress(FileNotFoundError):
        return Path("tests/conftest.py").samefile(__file__)
    return False


@pytest.fixture(autouse=True, scope="session")
def _nothing_is_configured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Whatever the person who runs the tests has configured, for themselves or in this folder, decides no test."""
    nothing = tmp_path_factory.mktemp("nothing_configured")
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv(places.HOME, str(nothing))
        patched.setattr(places, "here", lambda: nothing if _is_in_this_folder() else Path())
        yield


class Witness:
    """Every emulator that tests start, so that whatever an adapter sent to it can be judged."""

    def __init__(self) -> None:
        self.judged: WeakKeyDictionary[Emulator, int] = WeakKeyDictionary()
        make = Emulator.__init__

        def made(emulator: Emulator, *given: Any, **named: Any) -> None:
            make(emulator, *given, **named)
            self.judged[emulator] = 0

        witnessed: Any = Emulator
        witnessed.__init__ = made

    def judge(self) -> list[str]:
        """What the rules of the servers, or the laws of the conversation, have against any new request."""
        found: list[str] = []
        for emulator, seen in list(self.judged.items()):
            new, self.judged[emulator] = emulator.received[seen:], len(emulator.received)
            for received in new:
                violations = (*received.violations, *laws(received.protocol, received.request))
                found += [f"{violation.rule} at {violation.at}: {violation.message}" for violation in violations]
        return found


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[Any]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """A test in which a secret was printed or logged fails."""
    report = yield
    told = [name for name, text in report.sections if any(secret in text for secret in SECRETS)]
    # At the end of the test there is all that was captured in it.
    if call.when == "teardown" and report.passed and told:
        report.outcome, report.longrepr = "failed", f"a secret was told: {', '.join(told)}"
    return report


_WITNESS = Witness()


@pytest.fixture(autouse=True)
def every_request_is_accepted(request: pytest.FixtureRequest) -> Iterator[None]:
    """No test may make an adapter send what a real server refuses, or what breaks the laws of the conversation.

    A test that sends broken requests on purpose says so with the mark `sends_broken_requests`.
    """
    yield
    found = _WITNESS.judge()
    if request.node.get_closest_marker("sends_broken_requests") is None:
        assert found == []
