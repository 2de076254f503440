"""The engine: group layout, cache, decoder and the loading of models. Everything that needs torch to translate."""
