"""The use cases, as the command line and Python programs call them.

`api` is the Python interface; `status` says what a pipeline is doing; `new_repository` begins a repository, with the
texts of `new_files`. Nothing here prints.
"""
