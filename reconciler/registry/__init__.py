"""The registry: what was applied, by whom, under which approval, and the journal of what is being applied."""
