SELECT /*+ BROADCAST(t) */ a FROM t
-- ~
SELECT /*+ MERGE(t) */ a FROM t
