"""The driving side: what an embedder types, the container, the command line, the emulator."""
