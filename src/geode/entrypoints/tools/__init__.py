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
| calling | how a call reaches the function |
| build | all of it put together |
| definitions | tools that are described as data, and what is wrong with them |
| handlers | the functions behind definitions |
"""

from geode.entrypoints.tools.build import as_tool, build_tools
from geode.entrypoints.tools.declaration import tool
from geode.entrypoints.tools.handlers import tools_from

__all__ = ["as_tool", "build_tools", "tool", "tools_from"]
