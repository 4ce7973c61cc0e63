"""What the domain needs from outside: protocols, with their obligations in the docstrings."""
