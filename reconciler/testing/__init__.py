"""What shows that the product is right, for its own tests and for those of whoever builds on it.

The product never imports it.

- `recording`: an engine in plain Python that notes what it is asked for, and does it with rows; it passes the same contract
  tests as Spark. `tables` are its tables, `recording_sinks` its outputs, `records` reads its inputs, `literals` judges the
  values of statements.
- `memory`: a registry in memory, under the same contract as the one on Delta.
- `crashes`: a process that dies at a boundary, as far as one process can.
- `simulate`: a plan carried out on a model of what is stored.
"""
