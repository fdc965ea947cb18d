"""What is written down of a pipeline: its head and histories, its lease, its journal, its life cycle.

For: reading and writing these records, each by its own rules; who holds the lease; who is told to stop. It decides nothing
about tables and views: the rooms above do, and write down here what they did.
"""
