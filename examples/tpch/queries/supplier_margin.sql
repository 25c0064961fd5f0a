-- What each supplier earns per brand after the cost of supply.
SELECT
  s_name,
  p_brand,
  sum(l_extendedprice * (1 - l_discount) - ps_supplycost * l_quantity) AS margin,
  sum(l_quantity)                                                      AS units
FROM lineitem
JOIN partsupp ON ps_partkey = l_partkey AND ps_suppkey = l_suppkey
JOIN part     ON p_partkey = l_partkey
JOIN supplier ON s_suppkey = l_suppkey
WHERE l_returnflag <> 'R'
GROUP BY s_name, p_brand
