"""The demo's tools on the current directory, for a real model:

geode run "What is this?" --tools geode.entrypoints.demo.here:tools --approve write_report
"""

from __future__ import annotations

from geode.entrypoints.demo.folder import folder_to_show
from geode.entrypoints.demo.tools import DemoTools

tools = list(DemoTools(folder_to_show(), None).all)
