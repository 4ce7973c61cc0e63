"""Anthropic Messages (`POST /v1/messages`): `wire` both ways, `stream` accumulates, `model` connects."""
