"""Small work carried out in this process, over rows held as Arrow: no JVM, no job of Spark.

What is here does what `engine.spark` does, for less than that takes to begin. What is not surely the same as Spark's is
left to Spark: a function here returns None for it, before anything is written.
"""
