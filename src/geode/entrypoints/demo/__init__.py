"""`geode demo`: three runs on real files, offline, with the model played by the emulator.

| file | what it knows |
|---|---|
| folder | which files there are, and what is worth telling of them |
| tools | the five tools |
| chart | a picture of bars, drawn byte by byte |
| script | what the model says and calls, about this folder |
| timeline | how a run looks to a person |
| same | whether two runs told the same events |
| main | the three runs, and whether all was as it must be |
| here | the tools on the current directory, for `geode run --tools geode.entrypoints.demo.here:tools` |
"""
