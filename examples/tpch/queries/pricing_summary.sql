-- Billing summary by return flag and line status, as finance reads it every hour.
SELECT
  l_returnflag,
  l_linestatus,
  sum(l_quantity)                                       AS quantity,
  sum(l_extendedprice * (1 - l_discount))               AS net_revenue,
  sum(l_extendedprice * (1 - l_discount) * (1 + l_tax)) AS billed,
  avg(l_discount)                                       AS average_discount,
  count(*)                                              AS lines
FROM lineitem
WHERE l_shipdate <= DATE '1998-09-01'
GROUP BY l_returnflag, l_linestatus
ORDER BY l_returnflag, l_linestatus
