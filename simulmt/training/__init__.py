"""Training: parallel text → batches in group layout → trainer → checkpoint."""
