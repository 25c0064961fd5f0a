-- How long customers wait between two orders, by market segment and year.
WITH gaps AS (
  SELECT
    o_custkey,
    o_orderdate,
    datediff(o_orderdate, lag(o_orderdate) OVER (PARTITION BY o_custkey ORDER BY o_orderdate, o_orderkey)) AS days
  FROM orders
)
SELECT
  c_mktsegment,
  year(o_orderdate) AS year,
  count(*)          AS repeat_orders,
  avg(days)         AS average_gap,
  max(days)         AS longest_gap
FROM gaps
JOIN customer ON c_custkey = o_custkey
WHERE days IS NOT NULL
GROUP BY c_mktsegment, year(o_orderdate)
