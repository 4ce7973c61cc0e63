"""Plumbing below the wires: bytes through an SDK's client, server-sent events, exceptions to facts.

It knows no wire: what a body means is the business of the adapters above it.
"""
