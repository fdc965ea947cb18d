"""The shell around the core: reads the repository and the registry, asks for plans, carries them out."""
