"""The steps that plans are made of.

One file a kind says what the step is, its words, and its form in JSON, as plans and journals have it: names of kinds are
permanent. `step` has all of them, in their order. `IS_SEEN` says whether a reader of the relation's folder may see what the
step does: an apply that began such a step can only go forward (`materialize.taking_back`).

How a step is carried out stands elsewhere: `registry.entries` (what it pins), `materialize.apply_effects` (its effect),
`testing.simulate` (its effect on a model).
"""
