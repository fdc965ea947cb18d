"""The server of a repository: it keeps a Spark warm, and runs commands in processes that have everything loaded.

    reconcile query …  ──socket──►  server ──fork──► guard ──fork──► the command, on the caller's terminal
      (client)                        │                                  │
                                      └──fork──► Spark's process ◄───────┘

- `places`: where the sockets stand, and which commands are served.
- `messages`: what the processes say to each other.
- `client`: hands a command to the server of its repository, if one answers. It imports next to nothing.
- `listening`: the server. It has no threads and touches no Spark, so that it can fork at any moment.
- `background`: starts it without a terminal.
- `guarding`: one command: who asks, the process that works, and what is left in Spark when that dies.
- `spark_process`: the process that starts Spark and lets commands in.

A served command is the same command: it runs the same code in the folder, with the environment and on the terminal of
whoever asked, takes the same lease, and ends with the same exit code. Where anything differs that Spark would have to
know, it starts its own Spark, as without a server.

This room runs commands that it is given as a function; it knows nothing of the command line.
"""
