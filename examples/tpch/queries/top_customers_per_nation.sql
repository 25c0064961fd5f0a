-- The twenty best customers of every nation, by what they spent.
WITH spend AS (
  SELECT o_custkey, sum(l_extendedprice * (1 - l_discount)) AS spent, count(DISTINCT o_orderkey) AS orders
  FROM orders
  JOIN lineitem ON l_orderkey = o_orderkey
  GROUP BY o_custkey
),
ranked AS (
  SELECT
    c_nationkey,
    c_custkey,
    c_name,
    spent,
    orders,
    row_number() OVER (PARTITION BY c_nationkey ORDER BY spent DESC, c_custkey) AS place
  FROM spend
  JOIN customer ON c_custkey = o_custkey
)
SELECT n_name, place, c_custkey, c_name, spent, orders
FROM ranked
JOIN nation ON n_nationkey = c_nationkey
WHERE place <= 20
