-- Monthly revenue per customer nation, with its share of the month.
WITH monthly AS (
  SELECT
    n_name                                  AS nation,
    date_trunc('MONTH', o_orderdate)        AS month,
    sum(l_extendedprice * (1 - l_discount)) AS revenue
  FROM lineitem
  JOIN orders   ON l_orderkey = o_orderkey
  JOIN customer ON o_custkey = c_custkey
  JOIN nation   ON c_nationkey = n_nationkey
  GROUP BY n_name, date_trunc('MONTH', o_orderdate)
)
SELECT
  nation,
  month,
  revenue,
  revenue / sum(revenue) OVER (PARTITION BY month) AS share_of_month
FROM monthly
ORDER BY month, nation
