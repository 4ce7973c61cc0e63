"""Tools from Python functions.

`tool` declares, `as_tool` and `build_tools` make what the rest of geode knows: a `Tool` with a schema from
the types of the signature and a handler that turns arguments back into them.

| file | what it knows |
|---|---|
| declaration | the decorator and what it leaves on the function |
| source | the function behind methods, wrappers and callable objects; where it was written |
| signature | parameters, their resolved types and their texts |
| docstring | Google, NumPy and Sphinx sections |
| plain | types that are JSON already: schema and conversion by a table, without pydantic |
| described | every other type, through pydantic, which is imported only for them |
| build | all of it put together |
"""

from geode.entrypoints.tools.build import as_tool, build_tools
from geode.entrypoints.tools.declaration import tool

__all__ = ["as_tool", "build_tools", "tool"]
