-- unaliased_table
SELECT id, amount FROM sales WHERE shop = 3 AND amount < 24

-- aliased_table
SELECT s.id, s.amount FROM sales s WHERE s.shop = 3 AND s.amount < 24

-- join_of_three
SELECT s.id, r.name FROM sales s JOIN shops ON s.shop = shops.shop JOIN regions r ON r.region = shops.region

-- self_join
SELECT a.id, b.id AS other FROM sales a JOIN sales b ON a.id = b.id + 1 WHERE a.shop < b.shop

-- left_semi_anti
SELECT * FROM sales LEFT SEMI JOIN shops ON sales.shop = shops.shop LEFT ANTI JOIN regions ON region = id

-- using
SELECT shop, sum(amount) AS total FROM sales JOIN shops USING (shop) GROUP BY shop

-- natural
SELECT city, name FROM shops NATURAL JOIN regions

-- star
SELECT * FROM shops JOIN regions ON shops.region = regions.region

-- qualified_star
SELECT s.*, r.name AS region_name FROM shops s JOIN regions r ON s.region = r.region

-- star_except
SELECT * EXCEPT (note, tags, attrs, address) FROM sales

-- star_of_derived
SELECT * FROM (SELECT shop AS s, count(*) AS n FROM sales GROUP BY shop) WHERE n > 3

-- struct_star
SELECT id, address.* FROM sales

-- cte
WITH per_shop AS (SELECT shop, sum(amount) AS total FROM sales GROUP BY shop), best AS (SELECT * FROM per_shop WHERE total > 100) SELECT b.shop, b.total, city FROM best b JOIN shops ON shops.shop = b.shop ORDER BY total DESC, b.shop

-- cte_twice
WITH x AS (SELECT shop AS k, amount AS v FROM sales) SELECT l.k, max(r.v) AS top FROM x l JOIN x r ON l.k = r.k GROUP BY l.k

-- cte_columns
WITH x(k, v) AS (SELECT shop, amount FROM sales) SELECT k, sum(v) AS v FROM x GROUP BY k

-- cte_shadows_a_table
WITH sales AS (SELECT id, shop FROM sales WHERE id > 5) SELECT count(*) AS n, max(id) AS id FROM sales

-- nested_cte
WITH a AS (WITH b AS (SELECT shop AS q FROM sales) SELECT q + 1 AS r FROM b) SELECT r, count(*) AS n FROM a GROUP BY r

-- recursive
WITH RECURSIVE r(n) AS (VALUES (1) UNION ALL SELECT n + 1 FROM r WHERE n < 5) SELECT n FROM r

-- derived_without_alias
SELECT top, count(*) AS n FROM (SELECT shop AS top FROM sales WHERE id > 3) GROUP BY top

-- derived_with_columns
SELECT d.k, d.v FROM (SELECT shop, amount FROM sales) AS d(k, v) WHERE d.v > 10

-- scalar_subquery
SELECT id, (SELECT max(amount) FROM sales i WHERE i.shop = o.shop) AS top FROM sales o WHERE id < 9

-- correlated_exists
SELECT city FROM shops WHERE EXISTS (SELECT 1 FROM sales WHERE sales.shop = shops.shop AND amount > 200)

-- in_subquery
SELECT city FROM shops WHERE shop NOT IN (SELECT shop FROM sales WHERE note = 'n1' AND shop IS NOT NULL)

-- lateral_join
SELECT city, t.best FROM shops, LATERAL (SELECT max(amount) AS best FROM sales WHERE sales.shop = shops.shop) t

-- lateral_view
SELECT id, tag FROM sales LATERAL VIEW explode(tags) e AS tag WHERE tag <> 'b1'

-- lateral_view_outer
SELECT id, p, tag FROM sales LATERAL VIEW OUTER posexplode(tags) e AS p, tag

-- explode_in_select
SELECT id, explode(attrs) AS (k, v) FROM sales

-- window
SELECT id, sum(amount) OVER (PARTITION BY shop ORDER BY id) AS running FROM sales

-- named_window
SELECT id, sum(amount) OVER w AS a, count(*) OVER v AS b FROM sales WINDOW w AS (PARTITION BY shop ORDER BY id), v AS (PARTITION BY note)

-- qualify
SELECT id, row_number() OVER (PARTITION BY shop ORDER BY id) AS place FROM sales QUALIFY place = 1

-- alias_shadows_column_order
SELECT shop, -id AS id FROM sales ORDER BY id LIMIT 5

-- alias_shadows_column_group
SELECT shop % 2 AS shop, count(*) AS n FROM sales GROUP BY shop

-- alias_shadows_column_having
SELECT shop, sum(amount) AS amount FROM sales GROUP BY shop HAVING sum(amount) > 700

-- group_by_alias
SELECT year(day) AS y, month(day) AS m, count(*) AS n FROM sales GROUP BY y, m ORDER BY y, m

-- group_by_position
SELECT shop, note, count(*) AS n FROM sales GROUP BY 1, 2 ORDER BY 3 DESC, 1, 2

-- lateral_column_alias
SELECT amount * 2 AS twice, twice + 1 AS more FROM sales

-- distinct_order
SELECT DISTINCT s.shop, s.note AS remark FROM sales s ORDER BY s.shop, remark

-- distinct_order_derived
SELECT DISTINCT d.k FROM (SELECT shop AS k FROM sales) d ORDER BY d.k

-- having
SELECT shop, count(*) AS n FROM sales GROUP BY shop HAVING n > 8 AND max(amount) > 1

-- grouping_sets
SELECT shop, note, sum(amount) AS a, grouping_id() AS g FROM sales GROUP BY GROUPING SETS ((shop, note), (shop), ())

-- rollup_cube
SELECT shop, note, count(*) AS n FROM sales GROUP BY ROLLUP (shop, note) UNION ALL SELECT shop, note, count(*) FROM sales GROUP BY CUBE (shop, note)

-- union_order
SELECT shop AS k FROM sales UNION SELECT region AS z FROM regions ORDER BY k

-- set_operations
(SELECT shop FROM sales EXCEPT SELECT shop FROM shops) UNION ALL (SELECT region FROM shops INTERSECT SELECT region FROM regions)

-- pivot
SELECT * FROM (SELECT shop, note, amount FROM sales) PIVOT (sum(amount) AS s FOR note IN ('n1' AS one, 'n2' AS two))

-- unpivot
SELECT * FROM (SELECT id, shop, id + 1 AS more FROM sales) UNPIVOT (v FOR n IN (shop, more))

-- values
SELECT v.a, v.b FROM VALUES (1, 'x'), (2, 'y') AS v(a, b) JOIN shops ON shops.shop = v.a

-- values_default_names
SELECT col1 + 1 AS x FROM VALUES (1), (2)

-- table_function
SELECT r.id, city FROM range(1, 4) r JOIN shops ON shop = r.id

-- lambda
SELECT id, transform(tags, x -> concat(x, note)) AS t, aggregate(tags, '', (acc, x) -> acc || x) AS a FROM sales

-- struct_fields
SELECT address.city, s.address.geo.lat AS lat, address.geo FROM sales s WHERE address.GEO.Lon > 1

-- map_and_array
SELECT attrs['k'] AS a, attrs.K AS b, tags[0] AS c, element_at(attrs, 'K') AS d FROM sales WHERE size(tags) > 0

-- struct_of_columns
SELECT to_json(struct(k, V)) AS j FROM (SELECT shop AS k, note AS V FROM sales)

-- struct_of_star
SELECT to_json(struct(*)) AS j FROM (SELECT shop AS k, note AS v FROM sales)

-- named_fields
SELECT struct(shop AS s, note AS n).n AS x, named_struct('a', id).a AS y FROM sales

-- unnamed_output
SELECT sum(s.amount), count(*), max(s.shop) + 1 FROM sales s

-- unnamed_output_of_derived
SELECT sum(v), max(d.k) FROM (SELECT shop AS k, amount AS v FROM sales) d

-- null_safe
SELECT id FROM sales WHERE note <=> NULL OR note IS DISTINCT FROM 'n1'

-- patterns
SELECT id FROM sales WHERE note RLIKE '^n[12]$' OR note LIKE 'n%3' ESCAPE '/' OR note ILIKE ANY ('N1', 'N2')

-- literals
SELECT 1L AS a, 1.50BD AS b, 2S AS c, 1e3 AS d, .5 AS e, X'1F' AS f, r'a\n' AS g, 'it''s' AS h, "dq" AS i, DATE '2024-01-05' AS j, TIMESTAMP '2024-01-05 10:00:00' AS k, CAST(INTERVAL '1-2' YEAR TO MONTH AS STRING) AS l, 3D AS m FROM regions

-- intervals
SELECT id FROM sales WHERE day + INTERVAL 3 DAYS > DATE'2024-01-20' AND day < DATE'2024-03-01' - INTERVAL '1' MONTH

-- casts
SELECT CAST(amount AS INT) AS a, amount::string AS b, try_cast(note AS BIGINT) AS c, CAST(named_struct('a', 1) AS STRUCT<A: BIGINT>) AS d FROM sales

-- units
SELECT timestampdiff(DAY, day, DATE'2024-03-01') AS a, date_add(day, 3) AS b, dateadd(MONTH, 1, day) AS c, extract(YEAR FROM day) AS d, date_trunc('MONTH', day) AS e FROM sales

-- quoted_names
SELECT `Boss name`, r.`Boss name` AS `the boss`, name AS `a.b` FROM regions r WHERE `Boss name` IS NOT NULL

-- quoted_alias_used
SELECT d.`a b` AS x FROM (SELECT shop AS `a b` FROM sales) d ORDER BY x

-- sample
SELECT id FROM sales TABLESAMPLE (50 PERCENT) REPEATABLE (7)

-- hints
SELECT /*+ BROADCAST(h), SHUFFLE_HASH(sales) */ sales.id, h.city FROM sales JOIN shops h ON sales.shop = h.shop

-- hint_in_subquery
SELECT d.id FROM (SELECT /*+ MERGE(x) */ y.id FROM sales y JOIN shops x ON x.shop = y.shop) d JOIN (SELECT /*+ REPARTITION(3, shop) */ shop FROM shops) e ON d.id = e.shop

-- case_and_if
SELECT CASE WHEN amount > 100 THEN 'big' WHEN note IS NULL THEN 'none' ELSE note END AS k, if(shop = 1, 'a', 'b') AS l, coalesce(note, 'x') AS m, nvl2(note, 1, 2) AS n FROM sales

-- aggregates
SELECT shop, count(DISTINCT note, day) AS a, sum(amount) FILTER (WHERE id > 9) AS b, percentile_cont(0.5) WITHIN GROUP (ORDER BY amount) AS c, max_by(id, amount) AS d, collect_set(shop) AS e FROM sales GROUP BY shop

-- join_in_parentheses
SELECT s.id, r.name FROM sales s JOIN (shops h JOIN regions r ON h.region = r.region) ON s.shop = h.shop

-- cross_and_full
SELECT h.city, r.name FROM shops h FULL OUTER JOIN regions r ON h.region = r.region AND r.region > 1 CROSS JOIN VALUES (1) AS one(x)

-- sort_by
SELECT /*+ COALESCE(1) */ shop, note FROM (SELECT shop, note FROM sales DISTRIBUTE BY shop SORT BY note) SORT BY shop

-- limit_offset
SELECT id FROM sales ORDER BY id DESC NULLS LAST LIMIT 5 OFFSET 2

-- group_by_all
SELECT shop, count(*) AS n FROM sales GROUP BY ALL ORDER BY ALL

-- from_first
FROM sales SELECT id WHERE shop = 1

-- in_list_and_between
SELECT id FROM sales WHERE shop IN (1, 2, 3) AND amount BETWEEN 1 AND 100 AND NOT (id = 4 OR id = 8)

-- output_case
SELECT ID, Amount AS Total, Sum(Amount) OVER () FROM Sales

-- alias_that_is_a_base_name
SELECT d.note AS x FROM (SELECT shop AS note FROM sales) d

-- names_like_canonical_ones
SELECT t0.c1 AS c0, t1.c0 AS c1 FROM (SELECT shop AS c1 FROM sales) t0 JOIN (SELECT shop AS c0 FROM shops) t1 ON t0.c1 = t1.c0

-- semi_join_hides
SELECT name FROM regions WHERE EXISTS (SELECT 1 FROM sales LEFT SEMI JOIN shops ON sales.shop = shops.shop WHERE region = 1)

-- rand_in_order
SELECT count(*) AS n FROM (SELECT id FROM sales ORDER BY rand(3) LIMIT 7)

-- shift
SELECT id >> 1 AS a, id << 2 AS b, id & 3 AS c, id | 1 AS d, id ^ 2 AS e, ~id AS f, id DIV 2 AS g, id % 3 AS h, - id AS i FROM sales

-- nested_types
SELECT CAST(array(array(1)) AS ARRAY<ARRAY<BIGINT>>) AS a, cast(map('a', array(1)) as map<string,array<int>>) AS m FROM regions

-- variable_like_a_canonical_name
SELECT transform(k, c0 -> concat(c0, v)) AS x FROM (SELECT tags AS k, note AS v FROM sales)

-- table_alias_like_a_struct
SELECT address.city AS x, address.geo.lat AS y FROM sales JOIN shops address ON sales.shop = address.shop

-- comma_join
SELECT h.city, r.name FROM shops h, regions r WHERE h.region = r.region

-- kept_stars_in_one_predicate
SELECT id FROM sales WHERE EXISTS (SELECT * FROM shops JOIN regions USING (region)) AND EXISTS (SELECT * FROM sales s JOIN shops USING (shop))
