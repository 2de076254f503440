"""The command line: one file a command, shared options in `options`, errors to exit codes in `main`."""
