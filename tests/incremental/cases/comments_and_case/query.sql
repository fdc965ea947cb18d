select O_CUSTKEY, -- of whom
 count( * ) as N /* all */ from ORDERS group by O_CUSTKEY
