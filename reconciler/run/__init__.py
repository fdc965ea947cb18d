"""A pipeline runs: inputs are read, views follow, outputs are sent, step by step.

For: one step (`stepping`), what was left open by a dead process (`recovering`), outputs (`emitting`), the loop and its
controls, which connector moves when (`orchestration`). It runs what is applied, never the files.
"""
