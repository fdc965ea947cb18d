"""Two spellings of one thing, made one: each module knows one optional or doubled word of Spark's grammar.

Spark reserves no word (`SELECT select FROM from` is a query), so a word alone says nothing. A rewrite looks at a word's
neighbours and acts only where no other reading of them is left; `shapes.ends_operand` is what most of them rest on.
Each is by itself: it reads the shapes of the query as written and notes what to do in `Changes`.
"""
