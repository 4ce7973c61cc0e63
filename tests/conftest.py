"""How hard Hypothesis tries.

`ci` draws the same examples every time, so a red run is red for its change and not by chance; `dev`
draws new ones and remembers what failed; `explore` is a long search, by hand:

    HYPOTHESIS_PROFILE=explore .venv/bin/pytest tests/unit/domain
"""

import os

from hypothesis import HealthCheck, settings

# A shared machine stalls now and then: time limits of single examples would fail by chance.
settings.register_profile(
    "ci", derandomize=True, database=None, deadline=None, print_blob=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("dev", deadline=None)
settings.register_profile("explore", deadline=None, max_examples=5_000)

settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE") or ("ci" if os.environ.get("CI") else "dev"))
