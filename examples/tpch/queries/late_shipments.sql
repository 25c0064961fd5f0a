-- Orders of one market segment that arrived late, by priority and ship mode.
SELECT
  o_orderpriority,
  l_shipmode,
  count(DISTINCT o_orderkey)                          AS late_orders,
  avg(datediff(l_receiptdate, l_commitdate))          AS average_days_late,
  sum(l_extendedprice * (1 - l_discount))             AS revenue_at_risk
FROM lineitem
JOIN orders   ON l_orderkey = o_orderkey
JOIN customer ON o_custkey = c_custkey
WHERE c_mktsegment = :segment
  AND l_receiptdate > l_commitdate
  AND o_orderdate >= CAST(:since AS DATE)
GROUP BY o_orderpriority, l_shipmode
