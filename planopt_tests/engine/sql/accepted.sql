-- one_row
SELECT 1 AS one, current_date() AS today, version() AS spark, current_user() AS me;

-- parameters | since=1995-01-01 | segment=BUILDING | most=10
SELECT o_custkey FROM orders JOIN customer ON o_custkey = c_custkey WHERE c_mktsegment = :segment AND o_orderdate >= CAST(:since AS DATE) LIMIT :most

-- parameter_in_values | low=1
SELECT * FROM VALUES (:low, 'x') AS t(a, b)

-- ctes
WITH a AS (SELECT * FROM orders), b(k, n) AS (SELECT o_custkey, count(*) FROM a GROUP BY o_custkey) SELECT * FROM a JOIN b ON k = o_custkey

-- nested_ctes
WITH a AS (WITH a AS (SELECT 1 AS x) SELECT x FROM a) SELECT (WITH b AS (SELECT max(x) AS m FROM a) SELECT m FROM b) FROM a

-- recursive_cte
WITH RECURSIVE r(n) AS (VALUES (1) UNION ALL SELECT n + 1 FROM r WHERE n < 5) SELECT * FROM r

-- windows
SELECT rank() OVER (PARTITION BY o_custkey ORDER BY o_orderdate), sum(o_totalprice) OVER (ORDER BY o_orderdate ROWS BETWEEN 2 PRECEDING AND CURRENT ROW), lag(o_orderkey) IGNORE NULLS OVER (ORDER BY o_orderkey) FROM orders

-- window_clause
SELECT sum(o_totalprice) OVER w, avg(o_totalprice) OVER v FROM orders WINDOW w AS (PARTITION BY o_custkey ORDER BY abs(o_orderkey)), v AS w

-- qualify
SELECT o_custkey, row_number() OVER (PARTITION BY o_custkey ORDER BY o_orderdate) AS place FROM orders QUALIFY place = 1

-- scalar_exists_in
SELECT o_orderkey, (SELECT max(l_tax) FROM lineitem WHERE l_orderkey = o_orderkey) AS t FROM orders o WHERE EXISTS (SELECT 1 FROM lineitem WHERE l_orderkey = o.o_orderkey) AND o_custkey NOT IN (SELECT c_custkey FROM customer WHERE c_acctbal < 0)

-- lateral_join
SELECT * FROM customer, LATERAL (SELECT sum(o_totalprice) AS spent FROM orders WHERE o_custkey = c_custkey) LEFT JOIN LATERAL explode(split(c_comment, ' ')) AS w(word)

-- lateral_view
SELECT word, count(*) FROM orders LATERAL VIEW OUTER explode(split(o_comment, ' ')) e AS word LATERAL VIEW posexplode(array(1, 2)) AS i, v GROUP BY word

-- table_functions
SELECT * FROM range(1, 10, 2) r, stack(2, 1, 2) AS s(x), explode(sequence(1, 3)) AS e(y), inline(array(struct(1 AS a))) AS i

-- pivot
SELECT * FROM (SELECT o_orderstatus, o_orderpriority, o_totalprice FROM orders) PIVOT (sum(o_totalprice) AS s, count(*) AS n FOR o_orderstatus IN ('F' AS done, 'O' AS open))

-- unpivot
SELECT * FROM (SELECT o_orderkey, o_custkey, o_shippriority FROM orders) UNPIVOT INCLUDE NULLS (v FOR n IN (o_custkey, o_orderkey AS k))

-- grouping_sets
SELECT o_orderstatus, o_orderpriority, grouping_id(), sum(o_totalprice) FROM orders GROUP BY GROUPING SETS ((o_orderstatus), (o_orderpriority), ()) HAVING sum(o_totalprice) > 0

-- cube_rollup
SELECT o_orderstatus, o_orderpriority, count(*) FROM orders GROUP BY CUBE (o_orderstatus, o_orderpriority) UNION ALL SELECT o_clerk, o_comment, count(*) FROM orders GROUP BY ROLLUP (o_clerk, o_comment)

-- group_by_all
SELECT o_orderstatus, count(*) FROM orders GROUP BY ALL ORDER BY ALL LIMIT 5 OFFSET 2

-- limit_all
SELECT * FROM orders ORDER BY 1 DESC NULLS LAST LIMIT ALL

-- values
SELECT * FROM VALUES (1, 'a'), (abs(-2), upper('b')), (3, current_user()) AS t(n, s)

-- only_values
VALUES (1, 2), (3, 4)

-- table_and_from_first
FROM nation SELECT n_name UNION ALL SELECT r_name FROM (TABLE region)

-- set_operations
(SELECT o_custkey FROM orders UNION SELECT c_custkey FROM customer) EXCEPT ALL SELECT 1 INTERSECT SELECT 2 MINUS SELECT 3

-- joins
SELECT * FROM orders o LEFT SEMI JOIN customer ON c_custkey = o.o_custkey FULL OUTER JOIN nation ON true NATURAL JOIN region CROSS JOIN part

-- join_using_and_anti
SELECT * FROM nation a JOIN nation b USING (n_nationkey) LEFT ANTI JOIN supplier ON s_nationkey = n_nationkey

-- hints
SELECT /*+ BROADCAST(c), REPARTITION(4, o_custkey), NO_SUCH_HINT(x) */ * FROM orders JOIN customer c ON o_custkey = c_custkey

-- distribute_sort
SELECT /*+ COALESCE(2) */ * FROM (SELECT o_custkey FROM orders DISTRIBUTE BY o_custkey SORT BY o_custkey) CLUSTER BY o_custkey

-- sample
SELECT * FROM orders TABLESAMPLE (10 PERCENT) REPEATABLE (7), customer TABLESAMPLE (5 ROWS)

-- pipe
FROM orders |> WHERE o_custkey > 1 |> EXTEND o_custkey + 1 AS z |> SET z = z + 1 |> JOIN customer ON z = c_custkey |> AGGREGATE sum(z) AS total GROUP BY o_orderstatus |> ORDER BY total |> LIMIT 3

-- pipe_more
FROM nation |> DROP n_comment |> AS n |> SELECT n.n_name, n.n_regionkey |> UNION ALL (SELECT r_name, r_regionkey FROM region) |> PIVOT (count(*) FOR n_regionkey IN (1, 2))

-- lambdas
SELECT transform(a, x -> x + 1), aggregate(a, 0, (s, x) -> s + x), filter(a, (x, i) -> i > 0), map_filter(m, (k, v) -> k > v), array_sort(a, (l, r) -> r - l) FROM VALUES (array(1, 2), map(1, 2)) AS t(a, m)

-- aggregates
SELECT count(*) FILTER (WHERE o_custkey > 1), count(DISTINCT o_custkey, o_clerk), percentile_cont(0.5) WITHIN GROUP (ORDER BY o_totalprice), listagg(o_clerk, ',') WITHIN GROUP (ORDER BY o_clerk), max_by(o_clerk, o_totalprice), approx_count_distinct(o_custkey), any_value(o_clerk), median(o_totalprice), mode(o_clerk), collect_set(o_clerk), count_if(o_custkey = 1), first(o_clerk) IGNORE NULLS FROM orders

-- expressions
SELECT CASE WHEN o_custkey IN (1, 2) THEN 'a' ELSE 'b' END, CASE o_custkey WHEN 1 THEN 2 END, o_custkey BETWEEN 1 AND 2, o_comment LIKE ANY ('x%', 'y%'), o_comment RLIKE '^a{2}$', o_comment ILIKE 'Z_' ESCAPE '/', extract(YEAR FROM o_orderdate), INTERVAL '3' DAY, o_orderdate + INTERVAL 1 MONTH, trim(BOTH 'x' FROM o_comment), o_comment || 'x', o_custkey DIV 2, o_custkey % 2, NOT true, o_custkey IS DISTINCT FROM 2, o_custkey::string, try_cast(o_comment AS INT), coalesce(o_custkey, 0), nvl2(o_custkey, 1, 2), struct(o_custkey AS k).k, named_struct('a', 1).a, array(1, 2)[0], map('k', 1)['k'], date_trunc('MONTH', o_orderdate), o_comment COLLATE UTF8_LCASE, input_file_name(), monotonically_increasing_id(), rand(7), uuid(), timestampdiff(DAY, o_orderdate, now()) FROM orders

-- semi_structured
SELECT from_json(o_comment, 'a INT, b ARRAY<STRING>').b[0], get_json_object(o_comment, '$.a'), to_json(struct(o_custkey)), json_tuple(o_comment, 'x', 'y') AS (x, y), parse_json(o_comment):a.b::int, from_csv(o_comment, 'a INT'), xpath_int('<a>1</a>', 'a') FROM orders

-- time_windows
SELECT window.start, count(*) FROM orders GROUP BY window(o_orderdate, '30 days')

-- lateral_column_alias
SELECT o_custkey + 1 AS a, a * 2 AS b, count(*) AS n FROM orders GROUP BY o_custkey HAVING n > 1

-- stars
SELECT * EXCEPT (o_comment), o.o_custkey AS k FROM orders o

-- registered_path_as_of
SELECT * FROM delta.`@orders@` VERSION AS OF 0

-- registered_path_as_of_in_other_spellings
SELECT * FROM delta.`file:@orders@/` VERSION AS OF 0 UNION ALL SELECT * FROM DELTA.`@link@` FOR SYSTEM_VERSION AS OF 0

-- views
SELECT * FROM sees_orders JOIN global_temp.gate_sees_orders USING (o_orderkey)

-- text_that_looks_dangerous
SELECT 'DROP TABLE orders; reflect(); $x {y}' AS `transform using`, o_comment AS reflect FROM orders -- EXECUTE IMMEDIATE

-- sub_queries_in_the_branches_of_a_case
SELECT CASE WHEN (SELECT count(*) FROM orders WHERE o_custkey > 3) > 5 THEN (SELECT max(o_totalprice) FROM orders) ELSE (SELECT min(o_totalprice) FROM orders) END AS price

-- sub_queries_as_the_ends_of_between
SELECT o_orderkey FROM orders WHERE o_custkey BETWEEN (SELECT min(o_custkey) FROM orders) AND (SELECT max(o_custkey) + 3 FROM orders)

-- constants_within_limits
SELECT /*+ REPARTITION(1000) */ repeat('x', 1000000) AS x, lpad(o_comment, 200, ' ') AS p, approx_count_distinct(o_custkey, 0.01) OVER () AS n FROM orders

-- days_of_a_century
SELECT explode(sequence(DATE '1990-01-01', DATE '2090-01-01', INTERVAL 1 DAY)) AS day
