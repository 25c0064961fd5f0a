-- Every nation with its region: two tables of one small file each.
SELECT n_nationkey, n_name, r_name
FROM nation
JOIN region ON r_regionkey = n_regionkey
