-- How many different customers, orders and parts every month saw, per order priority.
SELECT
  date_trunc('MONTH', o_orderdate) AS month,
  o_orderpriority,
  count(DISTINCT o_custkey)        AS customers,
  count(DISTINCT o_orderkey)       AS orders,
  count(DISTINCT l_partkey)        AS parts
FROM orders
JOIN lineitem ON l_orderkey = o_orderkey
GROUP BY date_trunc('MONTH', o_orderdate), o_orderpriority
ORDER BY month, o_orderpriority
