"""Servers of the Model Context Protocol as sources of tools.

| module | what it knows |
|---|---|
| source | what a session takes: who the server is, and whether it can be begun at all |
| opened | a server that is open: its listings, its calls, and being reached again after it was lost |
| connection | one connection from its handshake to its end, in a task of its own |
| child, remote | the two ways to a server: a program that is started, and an address |
| discovery, results | what the server says of its tools, and what its tools say, as geode's own values |
| variables | which variables of this process reach a server |
| inspection | looking at a server once |

The package `mcp`, which comes with the extra of that name, is imported when a source is opened.
"""
