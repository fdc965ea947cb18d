"""Versions of objects: numbered, looked at, read, pinned, rolled back, staged, and pruned."""
