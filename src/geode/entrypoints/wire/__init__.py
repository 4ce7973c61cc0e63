"""Looking at wire traffic that somebody kept: judging requests, reading answers, moving histories to another wire.

Each is a pure function of one exchange; `geode wire` applies them to files of any length, a line at a time.
"""
