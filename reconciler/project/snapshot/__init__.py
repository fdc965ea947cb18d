"""Snapshots: a program's canonical definitions and fingerprints, as applied or as desired."""
