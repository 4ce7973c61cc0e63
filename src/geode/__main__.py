"""`python -m geode` is the command `geode`."""

import sys

from geode.entrypoints.cli.main import main

sys.exit(main())
