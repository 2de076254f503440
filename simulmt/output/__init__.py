"""Where emissions go: text, JSON lines, captions, the live panel, the instance log."""
