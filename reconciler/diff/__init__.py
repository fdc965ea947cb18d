"""The diff: two snapshots compared, with the causes of every change. No I/O."""
