"""Spark's settings for tests, where rows are few and queries are many."""

# What takes the time is to compile classes for a query, which the runs of commands in processes of their own do. Tables are
# many, and Delta would remember each for an hour. A vacuum would list a table's folder in 10,000 tasks. What Spark's parser
# remembers of some thousand queries fills a smaller heap, which then is searched for rubbish again and again.
FEW_ROWS = {
    "spark.master": "local[2]",
    "spark.driver.memory": "4g",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.adaptive.coalescePartitions.initialPartitionNum": "2",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.sources.parallelPartitionDiscovery.parallelism": "2",
    "spark.databricks.delta.delta.log.cacheSize": "100",
    "spark.databricks.delta.delta.log.cacheRetentionMinutes": "2",
}
