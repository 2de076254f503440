"""Corpora: decoding them in batches, sweeping over k, tables and curves."""
