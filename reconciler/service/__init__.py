"""The use cases, as the command line and Python programs call them.

`project` and `pipeline` are the Python interface, on the one engine of `engines`, with an `observer` of what goes on;
`planned_change` is a promotion or a rollback that can be looked at first. `status` says what a pipeline is doing;
`new_repository` begins a repository, with the texts of `new_file_texts`. Nothing here prints.
"""
