"""From what names a model to the adapter that answers: the registry, `routing.toml`, connections."""
