"""Versions of objects, as they are recorded: their numbers, histories, aliases and the names they were written for.

For: which number an object gets, what a version is, which rollback a user means. Programs with other versions in them are
made in `workspace`, their rows are read in `query` and kept in `retention`, a rollback is carried out in `apply`.
"""
