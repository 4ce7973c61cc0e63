"""Chat Completions (`POST /chat/completions`) and its dialects: `wire` both ways, `stream` accumulates, `model` connects."""
