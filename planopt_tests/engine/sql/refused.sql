-- parse | transform | `TRANSFORM … USING` runs a program
SELECT TRANSFORM(o_custkey) USING 'touch @canary@' AS (x) FROM orders

-- parse | transform_in_from | `TRANSFORM … USING` runs a program
SELECT x FROM (SELECT TRANSFORM(o_custkey) USING 'touch @canary@' AS (x) FROM orders) WHERE x > 1

-- parse | transform_in_cte | `TRANSFORM … USING` runs a program
WITH t AS (SELECT TRANSFORM(o_custkey) USING 'touch @canary@' AS (x) FROM orders) SELECT count(*) FROM t

-- parse | transform_in_cte_of_a_subquery | `TRANSFORM … USING` runs a program
SELECT (WITH t AS (SELECT TRANSFORM(o_custkey) USING 'touch @canary@' AS (x) FROM orders) SELECT max(x) FROM t) AS y

-- parse | transform_in_scalar_subquery | `TRANSFORM … USING` runs a program
SELECT * FROM orders WHERE o_custkey > (SELECT max(x) FROM (SELECT TRANSFORM(o_custkey) USING 'touch @canary@' AS (x) FROM orders))

-- parse | transform_in_exists | `TRANSFORM … USING` runs a program
SELECT * FROM orders WHERE EXISTS (SELECT TRANSFORM(c_custkey) USING 'touch @canary@' AS (x) FROM customer)

-- parse | transform_in_in | `TRANSFORM … USING` runs a program
SELECT * FROM orders WHERE o_custkey IN (SELECT TRANSFORM(c_custkey) USING 'touch @canary@' AS (x) FROM customer)

-- parse | transform_in_lateral | `TRANSFORM … USING` runs a program
SELECT * FROM orders, LATERAL (SELECT TRANSFORM(c_custkey) USING 'touch @canary@' AS (x) FROM customer) AS t

-- parse | transform_in_union | `TRANSFORM … USING` runs a program
SELECT o_custkey FROM orders UNION ALL SELECT TRANSFORM(c_custkey) USING 'touch @canary@' AS (x) FROM customer

-- parse | transform_in_pivot | `TRANSFORM … USING` runs a program
SELECT * FROM (SELECT TRANSFORM(o_orderstatus, o_custkey) USING 'touch @canary@' AS (s, k) FROM orders) PIVOT (sum(k) FOR s IN ('F', 'O'))

-- parse | transform_after_pipe | `TRANSFORM … USING` runs a program
FROM orders |> WHERE o_custkey IN (SELECT TRANSFORM(c_custkey) USING 'touch @canary@' AS (x) FROM customer)

-- parse | map_using | `TRANSFORM … USING` runs a program
FROM orders MAP o_custkey USING 'touch @canary@' AS x

-- parse | subquery_in_window_clause | a sub-query in a WINDOW clause hides its tables
SELECT sum(o_totalprice) OVER w FROM orders WINDOW w AS (PARTITION BY (SELECT max(_c0) FROM csv.`@csv@`))

-- parse | transform_in_window_clause | `TRANSFORM … USING` runs a program
SELECT sum(o_totalprice) OVER w FROM orders WINDOW w AS (PARTITION BY (SELECT max(x) FROM (SELECT TRANSFORM(o_custkey) USING 'touch @canary@' AS (x) FROM orders)))

-- parse | reflect | `reflect`: reflection calls Java
SELECT reflect('java.lang.System', 'setProperty', 'planopt.canary', 'sings')

-- parse | java_method | `java_method`: reflection calls Java
SELECT java_method('java.lang.System', 'setProperty', 'planopt.canary', 'sings')

-- parse | try_reflect | `try_reflect`: reflection calls Java
SELECT try_reflect('java.lang.System', 'setProperty', 'planopt.canary', 'sings')

-- parse | reflect_by_its_full_name | `system.builtin.reflect`: reflection calls Java
SELECT system.builtin.reflect('java.lang.System', 'setProperty', 'planopt.canary', 'sings')

-- parse | reflect_in_backticks | `REFLECT`: reflection calls Java
SELECT `REFLECT`('java.lang.System', 'setProperty', 'planopt.canary', 'sings')

-- parse | reflect_in_values | `reflect`: reflection calls Java
SELECT * FROM VALUES (reflect('java.lang.System', 'setProperty', 'planopt.canary', 'sings'))

-- parse | reflect_in_lambda | `reflect`: reflection calls Java
SELECT transform(array('planopt.canary'), k -> reflect('java.lang.System', 'setProperty', k, 'sings'))

-- parse | reflect_in_order_by | `reflect`: reflection calls Java
SELECT o_custkey FROM orders ORDER BY reflect('java.lang.System', 'setProperty', 'planopt.canary', 'sings')

-- parse | reflect_in_window_clause | `reflect`: reflection calls Java
SELECT sum(o_totalprice) OVER w FROM orders WINDOW w AS (PARTITION BY reflect('java.lang.System', 'setProperty', 'planopt.canary', 'sings'))

-- parse | reflect_in_join | `reflect`: reflection calls Java
SELECT * FROM orders JOIN customer ON o_custkey = c_custkey AND reflect('java.lang.System', 'setProperty', 'planopt.canary', 'sings') = 'x'

-- parse | reflect_in_lateral_view | `reflect`: reflection calls Java
SELECT * FROM orders LATERAL VIEW explode(array(reflect('java.lang.System', 'setProperty', 'planopt.canary', 'sings'))) e AS x

-- parse | reflect_in_table_function | `reflect`: reflection calls Java
SELECT * FROM explode(array(reflect('java.lang.System', 'setProperty', 'planopt.canary', 'sings')))

-- parse | reflect_in_time_travel | `TIMESTAMP AS OF` takes a literal or a parameter
SELECT * FROM orders TIMESTAMP AS OF reflect('java.lang.System', 'setProperty', 'planopt.canary', 'sings')

-- parse | execute_immediate | `EXECUTE IMMEDIATE` runs its text during analysis
EXECUTE IMMEDIATE 'CREATE TABLE gate_canary AS SELECT 1 AS x'

-- parse | script | `BEGIN … END` is a script
BEGIN CREATE TABLE gate_canary AS SELECT 1 AS x; SELECT 1; END

-- parse | script_with_loop | `BEGIN … END` is a script
BEGIN FOR r AS SELECT 1 AS x DO CREATE TABLE gate_canary AS SELECT 1 AS x; END FOR; END

-- parse | insert | `INSERT` writes
INSERT INTO orders SELECT * FROM orders

-- parse | insert_into_path | `INSERT` writes
INSERT INTO delta.`@outside@` SELECT 1

-- parse | insert_after_cte | `INSERT` writes
WITH t AS (SELECT 1 AS x) INSERT INTO delta.`@outside@` SELECT x FROM t

-- parse | insert_twice | `INSERT` writes
FROM orders INSERT INTO delta.`@outside@` SELECT o_custkey INSERT INTO delta.`@outside@` SELECT o_orderkey

-- parse | insert_overwrite_directory | `InsertIntoDir` is not part of a plain query
INSERT OVERWRITE DIRECTORY '@canary@' USING csv SELECT 1

-- parse | create_table_as | `CreateTableAsSelect` is not part of a plain query
CREATE TABLE gate_canary USING delta AS SELECT 1 AS x

-- parse | create_table | `CreateTable` is not part of a plain query
CREATE TABLE gate_canary (x INT) USING delta LOCATION '@canary@'

-- parse | replace_table | `ReplaceTableAsSelect` is not part of a plain query
CREATE OR REPLACE TABLE gate_canary USING delta AS SELECT 1 AS x

-- parse | create_view | `CreateView` is not part of a plain query
CREATE VIEW gate_canary AS SELECT 1 AS x

-- parse | create_temporary_view | `CreateViewCommand` is not part of a plain query
CREATE TEMPORARY VIEW gate_canary AS SELECT 1 AS x

-- parse | create_function | `CreateFunctionCommand` is not part of a plain query
CREATE TEMPORARY FUNCTION gate_canary AS 'java.lang.String'

-- parse | drop_table | `DropTable` is not part of a plain query
DROP TABLE gate_catalog_orders

-- parse | alter_table | `AddColumns` is not part of a plain query
ALTER TABLE gate_catalog_orders ADD COLUMN y INT

-- parse | truncate | `TruncateTable` is not part of a plain query
TRUNCATE TABLE gate_catalog_orders

-- parse | delete | `DeleteFromTable` is not part of a plain query
DELETE FROM delta.`@outside@`

-- parse | update | `UpdateTable` is not part of a plain query
UPDATE delta.`@outside@` SET x = 2

-- parse | merge | `MergeIntoTable` is not part of a plain query
MERGE INTO delta.`@outside@` t USING (SELECT 1 AS x) s ON t.x = s.x WHEN MATCHED THEN DELETE

-- parse | optimize | `OptimizeTableCommand` is not part of a plain query
OPTIMIZE delta.`@outside@`

-- parse | vacuum | `VacuumTableCommand` is not part of a plain query
VACUUM delta.`@outside@` RETAIN 200 HOURS

-- parse | restore | `RestoreTableStatement` is not part of a plain query
RESTORE TABLE delta.`@outside@` TO VERSION AS OF 0

-- parse | clone | `CloneTableStatement` is not part of a plain query
CREATE TABLE gate_canary SHALLOW CLONE delta.`@outside@`

-- parse | convert | `ConvertToDeltaCommand` is not part of a plain query
CONVERT TO DELTA parquet.`@canary@`

-- parse | load_data | `LoadData` is not part of a plain query
LOAD DATA INPATH '@csv@' INTO TABLE gate_catalog_csv

-- parse | set | `SetCommand` is not part of a plain query
SET spark.sql.shuffle.partitions = 7

-- parse | reset | `ResetCommand` is not part of a plain query
RESET

-- parse | use | `SetCatalogAndNamespace` is not part of a plain query
USE default

-- parse | declare_variable | `CreateVariable` is not part of a plain query
DECLARE VARIABLE gate_canary INT DEFAULT 1

-- parse | set_variable | `SetVariable` is not part of a plain query
SET VARIABLE cutoff = 9

-- parse | add_jar | `AddJarsCommand` is not part of a plain query
ADD JAR '@canary@'

-- parse | cache | `CacheTable` is not part of a plain query
CACHE TABLE orders

-- parse | refresh | `RefreshTable` is not part of a plain query
REFRESH TABLE orders

-- parse | analyze | `AnalyzeTable` is not part of a plain query
ANALYZE TABLE gate_catalog_csv COMPUTE STATISTICS

-- parse | explain | `ExplainCommand` is not part of a plain query
EXPLAIN SELECT 1

-- parse | describe | `DescribeRelation` is not part of a plain query
DESCRIBE orders

-- parse | show_tables | `ShowTables` is not part of a plain query
SHOW TABLES

-- parse | call | `Call` is not part of a plain query
CALL system.gate_canary()

-- parse | identifier_clause | `IDENTIFIER(…)` hides which table is read
SELECT * FROM IDENTIFIER(:name)

-- parse | identifier_clause_as_function | `IDENTIFIER(…)` hides which column or function is used
SELECT IDENTIFIER('re' || 'flect')('java.lang.System', 'setProperty', 'planopt.canary', 'sings')

-- parse | csv_path | `csv.@csv@` is not a registered table
SELECT * FROM csv.`@csv@`

-- parse | text_path | `text./etc/passwd` is not a registered table
SELECT * FROM text.`/etc/passwd`

-- parse | json_path_in_scalar_subquery | `json.@csv@` is not a registered table
SELECT (SELECT count(*) FROM json.`@csv@`)

-- parse | parquet_path_in_cte | `parquet.@csv@` is not a registered table
WITH t AS (SELECT * FROM parquet.`@csv@`) SELECT * FROM t

-- parse | path_in_identifier_clause | `csv.@csv@` is not a registered table
SELECT * FROM IDENTIFIER('csv.`@csv@`')

-- parse | path_by_class_name | CSVFileFormat.@csv@` is not a registered table
SELECT * FROM `org.apache.spark.sql.execution.datasources.csv.CSVFileFormat`.`@csv@`

-- parse | path_with_time_travel | `delta.@outside@` is not a registered table
SELECT * FROM delta.`@outside@` VERSION AS OF 0

-- parse | delta_path | `delta.@outside@` is not a registered table
SELECT * FROM delta.`@outside@`

-- parse | delta_path_in_join | `DELTA.@outside@` is not a registered table
SELECT * FROM orders JOIN DELTA.`@outside@` ON x = o_custkey

-- parse | delta_path_in_lateral | `delta.@outside@` is not a registered table
SELECT * FROM orders, LATERAL (SELECT x FROM delta.`@outside@`)

-- parse | delta_path_in_not_in | `delta.@outside@` is not a registered table
SELECT * FROM orders WHERE o_custkey NOT IN (SELECT x FROM delta.`@outside@`)

-- parse | parquet_of_a_registered_table | `parquet.@orders@` is not a registered table
SELECT * FROM parquet.`@orders@`

-- parse | version_in_the_path | `delta.@orders@@v0` is not a registered table
SELECT * FROM delta.`@orders@@v0`

-- parse | table_changes_of_a_registered_table | `table_changes_by_path`: `CDCPathBased` is not part of a plain query
SELECT * FROM table_changes_by_path('@orders@', 0)

-- parse | time_by_the_clock | `TIMESTAMP AS OF` takes a literal or a parameter
SELECT * FROM delta.`@orders@` TIMESTAMP AS OF current_timestamp() - INTERVAL 1 HOUR

-- parse | time_by_a_sub_query | `TIMESTAMP AS OF` takes a literal or a parameter
SELECT * FROM delta.`@orders@` FOR SYSTEM_TIME AS OF (SELECT max(o_orderdate) FROM orders)

-- parse | other_catalog | `lake.sales.orders` is not a registered table
SELECT * FROM lake.sales.orders

-- parse | table_options | `gate_catalog_orders WITH (…)` passes options to the reader
SELECT * FROM gate_catalog_orders WITH ('fs.file.impl' = 'java.lang.String')

-- parse | stream | `STREAM` reads a stream
SELECT * FROM STREAM(gate_catalog_orders)

-- parse | changes | `CHANGES` reads a change feed
SELECT * FROM gate_catalog_orders CHANGES FROM VERSION 0 TO VERSION 0

-- parse | table_changes | `table_changes`: `CDCNameBased` is not part of a plain query
SELECT * FROM table_changes('gate_catalog_orders', 0)

-- parse | table_changes_by_path | `table_changes_by_path`: `CDCPathBased` is not part of a plain query
SELECT * FROM table_changes_by_path('@outside@', 0)

-- parse | read_files | `read_files` is not a built-in function
SELECT * FROM read_files('@csv@')

-- parse | worker_logs | `python_worker_logs`: it reads logs, not a table
SELECT * FROM python_worker_logs()

-- parse | python_table_function | `py_table` is a user-defined function
SELECT * FROM py_table(1)

-- parse | java_function | `java_upper` is a user-defined function
SELECT java_upper(o_comment) FROM orders

-- parse | sql_function | `sql_plus` is a user-defined function
SELECT sql_plus(o_shippriority) FROM orders

-- parse | function_of_a_catalog | `spark_catalog.default.f` is not a built-in function
SELECT spark_catalog.default.f(1)

-- parse | unknown_function | `no_such_function` is not a built-in function
SELECT no_such_function(1)

-- parse | protobuf | `from_protobuf`: a parser that may read its schema from any file
SELECT from_protobuf(cast('a' AS BINARY), 'm', '@csv@')

-- parse | avro | `from_avro`: a parser that may read its schema from any file
SELECT from_avro(cast('a' AS BINARY), '{"type":"int"}', map())

-- parse | xml_schema_file | `from_xml`: a parser that may read its schema from any file
SELECT from_xml(o_comment, 'a INT', map('rowValidationXSDPath', '@csv@')) FROM orders

-- parse | setting_in_text | `${…}` changes the text from outside
SELECT '${spark.app.id}'

-- parse | unknown_setting_in_text | `${…}` changes the text from outside
SELECT '${no.such.setting}'

-- parse | environment_in_text | `${…}` changes the text from outside
SELECT '${env:PATH}'

-- analysis | newest_by_path | at the newest version, not at the one that this run has pinned
SELECT * FROM delta.`@orders@`

-- analysis | newest_by_uri | at the newest version, not at the one that this run has pinned
SELECT * FROM delta.`file://@orders@/`

-- analysis | newest_by_link | at the newest version, not at the one that this run has pinned
SELECT * FROM delta.`@link@`

-- analysis | newest_beside_the_pinned_one | at the newest version, not at the one that this run has pinned
SELECT * FROM orders WHERE o_custkey IN (SELECT o_custkey FROM delta.`@orders@`)

-- analysis | newest_beside_a_fixed_version | at the newest version, not at the one that this run has pinned
SELECT * FROM delta.`@orders@` VERSION AS OF 0 UNION ALL SELECT * FROM delta.`@orders@`

-- analysis | view_hides_newest | at the newest version, not at the one that this run has pinned
SELECT * FROM sees_newest

-- analysis | view_hides_reflect | reflection calls Java
SELECT * FROM sees_reflect

-- analysis | view_in_exists_hides_reflect | reflection calls Java
SELECT * FROM orders WHERE EXISTS (SELECT 1 FROM sees_reflect)

-- analysis | view_hides_transform | `TRANSFORM … USING` runs a program
SELECT * FROM sees_transform

-- analysis | view_hides_path | `file:@csv@`, which is not a Delta table
SELECT * FROM sees_csv

-- analysis | view_hides_delta_path | `file:@outside@`, which is not a registered table
SELECT * FROM sees_outside

-- analysis | view_of_a_view_hides_delta_path | `file:@outside@`, which is not a registered table
SELECT max(x) FROM sees_outside_twice

-- analysis | view_in_scalar_subquery_hides_delta_path | `file:@outside@`, which is not a registered table
SELECT o_custkey, (SELECT max(x) FROM sees_outside_twice) AS m FROM orders

-- analysis | view_in_recursive_cte_hides_delta_path | `file:@outside@`, which is not a registered table
WITH RECURSIVE r(n) AS (SELECT max(x) FROM sees_outside UNION ALL SELECT n + 1 FROM r WHERE n < 3) SELECT * FROM r

-- analysis | view_hides_function | a user-defined SQL function hides what it does
SELECT * FROM sees_sql_function

-- analysis | view_hides_variable | a session variable changes the query from outside
SELECT * FROM sees_variable

-- analysis | global_view_hides_delta_path | `file:@outside@`, which is not a registered table
SELECT * FROM global_temp.gate_sees_outside

-- analysis | catalog_view_hides_table | which is not a registered table
SELECT * FROM gate_view

-- analysis | catalog_delta_table | which is not a registered table
SELECT * FROM spark_catalog.default.gate_catalog_orders

-- analysis | catalog_csv_table | which is not a Delta table
SELECT * FROM default.gate_catalog_csv

-- analysis | session_variable | a session variable changes the query from outside
SELECT * FROM orders WHERE o_custkey > cutoff

-- analysis | python_function | a user-defined function runs Python, which the workload does not allow
SELECT py_double(o_shippriority) FROM orders

-- analysis | python_function_in_subquery | a user-defined function runs Python, which the workload does not allow
SELECT * FROM orders WHERE o_shippriority IN (SELECT py_double(c_nationkey) FROM customer)

-- parse | transform_in_a_branch_of_a_case | `TRANSFORM … USING` runs a program
SELECT CASE WHEN o_custkey > 1 THEN (SELECT TRANSFORM(c_custkey) USING 'touch @canary@' AS (x) FROM customer) END FROM orders

-- parse | csv_in_the_condition_of_a_case | `csv.@csv@` is not a registered table
SELECT CASE WHEN (SELECT max(_c0) FROM csv.`@csv@`) > 1 THEN 1 ELSE 2 END FROM orders

-- parse | csv_as_an_end_of_between | `csv.@csv@` is not a registered table
SELECT * FROM orders WHERE o_custkey BETWEEN 1 AND (SELECT max(_c0) FROM csv.`@csv@`)

-- parse | repeat_two_billion_times | `repeat` asks for 2,000,000,000 characters or elements, more than 10,000,000
SELECT repeat('x', 2e9) AS x FROM orders

-- parse | arithmetic_on_constants | `space` asks for 1,000,000,000 characters or elements
SELECT length(space(1000 * 1000 * 1000)) AS n

-- parse | sequence_of_two_billion | `sequence` asks for 2,000,000,000 characters or elements
SELECT explode(sequence(1, 2000000000)) AS n

-- parse | sequence_in_a_lateral_view | `sequence` asks for 2,000,000,000 characters or elements
SELECT n FROM orders LATERAL VIEW explode(sequence(1, CAST(2e9 AS INT))) t AS n

-- parse | values_that_analysis_evaluates | `repeat` asks for 2,000,000,000 characters or elements
SELECT length(a) AS n FROM VALUES (repeat('x', 2000000000)) AS t(a)

-- parse | limit_that_analysis_evaluates | `repeat` asks for 2,000,000,000 characters or elements
SELECT o_orderkey FROM orders LIMIT length(repeat('x', 2000000000))

-- parse | sketch_that_analysis_builds | `approx_count_distinct` asks for 1,223,236,000,000 characters or elements
SELECT approx_count_distinct(o_custkey, 0.000001) AS n FROM orders

-- parse | repeat_in_a_subquery | `repeat` asks for 2,000,000,000 characters or elements
SELECT o_orderkey FROM orders WHERE o_comment IN (SELECT repeat(c_comment, 2000000000) FROM customer)

-- analysis | repartition_hint | it asks for 1,000,000 partitions, more than 100,000
SELECT /*+ REPARTITION(1000000) */ o_orderkey FROM orders

-- analysis | repartition_by_column_hint | it asks for 1,000,000 partitions, more than 100,000
SELECT /*+ REPARTITION(1000000, o_orderkey) */ o_orderkey FROM orders

-- analysis | repartition_by_range_hint | it asks for 1,000,000 partitions, more than 100,000
SELECT /*+ REPARTITION_BY_RANGE(1000000, o_orderkey) */ o_orderkey FROM orders

-- analysis | rebalance_hint | it asks for 1,000,000 partitions, more than 100,000
SELECT /*+ REBALANCE(1000000, o_orderkey) */ o_orderkey FROM orders

-- analysis | coalesce_hint | it asks for 1,000,000 partitions, more than 100,000
SELECT /*+ COALESCE(1000000) */ o_orderkey FROM orders

-- analysis | partitions_of_range | it asks for 1,000,000 partitions, more than 100,000
SELECT id FROM range(0, 10, 1, 1000000)
