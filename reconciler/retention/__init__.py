"""What of the past stays readable, and the prune that lets the rest go.

`rules` decide, and are pure; `facts` and `references` read what the rules have to know; `pruning` carries out.
"""
