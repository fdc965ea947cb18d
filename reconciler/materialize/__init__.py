"""Rows of tables and views are made: built, published, put back, withdrawn.

For: the effect of each kind of plan step and of each step of a run, repeatable at any point. When they are carried out, and
what is written down of them, `run` and `apply` decide.
"""
