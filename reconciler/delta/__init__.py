"""Delta tables without a JVM: the only package, with `registry`, that imports deltalake."""
