-- A fresh random sample of returned lines per ship mode, for the auditors; by design no two runs return the same rows.
SELECT l_shipmode, l_orderkey, l_linenumber, l_extendedprice
FROM (
  SELECT *, row_number() OVER (PARTITION BY l_shipmode ORDER BY rand()) AS place
  FROM lineitem
  WHERE l_returnflag = 'R' AND l_linenumber = 1
)
WHERE place <= 10
