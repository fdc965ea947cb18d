"""The plan: the ordered steps from the applied snapshot to the desired one, what they cost, and its digest. No I/O."""
