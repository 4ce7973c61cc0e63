"""Queries that are kept in a SQLite file, as tools."""

from saved_queries.source import SavedQueries

__all__ = ["SavedQueries"]
