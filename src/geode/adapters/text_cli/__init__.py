"""Models behind command line programs that take a text and give one: `claude` and `codex` (spec section 13).

`process` runs one program, `transcript` is the text that it reads, `claude` and `codex` know the programs, `model` is
the port. No tool, no picture and no secret of this process reaches a program.
"""
