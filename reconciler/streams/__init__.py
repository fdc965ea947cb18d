"""Stateful transformations of streams: what each means, as two queries of Spark SQL over what it remembers and what is new.

A stream reads rows that are only ever added: those of an append-only table, or of another stream. Each step gives it the
rows that were added since the step before, and it gives rows of its own, which are added to those that it gave before. What
it has to remember between steps is its state: a table of rows. So a step of a stream is two queries over the state and the
added rows: one gives the rows that are emitted now, the other gives the state that the next step finds. Both are
deterministic: the same rows in the same steps give the same output, whoever computes them and however often.

`model` has the transformations as values. `reading` makes them of what pipeline.yaml says, `problems` says what is wrong
with that, `expressions` looks at the SQL in it. `queries` writes the SQL of a step, with one module for each transformation.

May import: `base`, `sql`. Leaves to others: which versions are read, where state is kept, who runs the queries.
"""
