"""OpenAI Responses (`POST /responses`): `wire` both ways, `stream` accumulates, `model` connects."""
