"""A change is planned, approved and carried out: apply, staging, rollback, restore.

For: the plan between what is applied and what is desired, whether somebody agreed to it, and the journal's walk through its
steps. Effects are `materialize`'s, an open step of a run is `run`'s to finish first.
"""
