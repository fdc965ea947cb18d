"""Reading what is published, at one step, without a lease.

For: which Delta version of which folder a query reads (`reading`, `sources`), and running it. It never blocks a writer.
"""
