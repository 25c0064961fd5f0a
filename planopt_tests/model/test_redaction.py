"""No secret leaves the process, whatever it stands in; and nothing else is hidden."""

from __future__ import annotations

import json
import re
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from planopt_assets.errors import PlanoptError, SqlRefused, WorkloadErrors, WrongValue
from planopt_assets.model import redaction
from planopt_assets.model.ids import content_id
from planopt_assets.model.redaction import (
    HIDDEN,
    can_be_hidden,
    is_secret_name,
    learn,
    marked_literals,
    redact,
    redact_all,
    redact_rows,
    url_passwords,
)
from planopt_assets.store.schemas import TABLES
from planopt_tests.observe.captured import captured, plan_of

pytestmark = pytest.mark.fast

SECRETS = st.text(min_size=4, max_size=24).filter(can_be_hidden)


@pytest.fixture(autouse=True)
def nothing_known(secrets_of_one_test: None) -> None:
    redaction._known.clear()


# Credentials that nobody told of, known by where they stand: ‹…› is hidden, P is the password in it

TEXTS = {
    "postgres": "jdbc:postgresql://db:5432/shop?user=‹me›&password=‹P›&ssl=true",
    "postgres, nothing else": "jdbc:postgresql://db/shop?password=‹P›",
    "postgres, of a key": "jdbc:postgresql://db/shop?sslkey=/etc/client.key&sslpassword=‹P›",
    "sqlserver": "jdbc:sqlserver://db:1433;databaseName=shop;user=‹me›;password=‹P›;encrypt=true",
    "sqlserver, in braces": "jdbc:sqlserver://db:1433;password=‹{P;}}P}›;encrypt=true",
    "oracle, service": "jdbc:oracle:thin:‹scott/P›@//db:1521/shop",
    "oracle, sid": "jdbc:oracle:thin:‹scott/P›@db:1521:shop",
    "oracle, wallet": "jdbc:oracle:thin:@tcps://db:1522/shop?wallet_location=/w&oracle.net.wallet_password=‹P›",
    "mysql": "jdbc:mysql://‹me:P›@db:3306/shop",
    "mysql, two hosts": "jdbc:mysql://‹me:P›@db:3306,db2:3306/shop?useSSL=true",
    "mysql, key and value": "jdbc:mysql://address=(host=db)(port=3306)(user=me)(password=‹P›)/shop",
    "mysql, list": "jdbc:mysql://(host=db,port=3306,user=me,password=‹P›)/shop",
    "snowflake": "jdbc:snowflake://acme.snowflakecomputing.com/?user=‹me›&password=‹P›&warehouse=w&db=d",
    "snowflake, key": "jdbc:snowflake://acme.snowflakecomputing.com/?private_key_file=/k.p8&private_key_pwd=‹P›",
    "snowflake, token": "jdbc:snowflake://acme.snowflakecomputing.com/?authenticator=oauth&token=‹P›",
    "redshift": "jdbc:redshift://db:5439/shop?UID=‹me›&PWD=‹P›",
    "databricks": "jdbc:databricks://adb.net:443/default;httpPath=/sql/1;AuthMech=3;UID=‹token›;PWD=‹P›",
    "bigquery": "jdbc:bigquery://h:443;ProjectId=p;OAuthPvtKey=‹P›;OAuthType=0",
    "db2": "jdbc:db2://db:50000/shop:user=me;password=‹P›;",
    "teradata": "jdbc:teradata://db/DATABASE=shop,USER=me,PASSWORD=‹P›",
    "mongo": "mongodb+srv://‹me:P›@db/shop?retryWrites=true",
    "no user": "redis://‹:P›@db:6379/0",
    "s3": "s3a://‹KEYID:P›@bucket/orders",
    "signed by Azure": "https://acme.blob.core.windows.net/c/orders?sv=2022-11-02&se=2026-01-01&sr=c&sp=r&sig=‹P›",
    "a connection string": "DefaultEndpointsProtocol=https;AccountName=acme;AccountKey=‹P›;EndpointSuffix=net",
    "an event hub": "Endpoint=sb://acme.net/;SharedAccessKeyName=Root;SharedAccessKey=‹P›",
    "signed by AWS": "https://b.s3.amazonaws.com/k?X-Amz-Credential=‹P›&X-Amz-Date=20260101T00Z&X-Amz-Signature=‹P›",
    "signed by Google": "https://storage.googleapis.com/b/k?GoogleAccessId=robot&X-Goog-Signature=‹P›",
    "an API key": "https://api.acme.com/v1?key=‹P›&page=2",
    "a setting": "--conf spark.hadoop.fs.s3a.secret.key=‹P› --conf spark.sql.shuffle.partitions=8",
    "a map of Java": "options {url=jdbc:x, password=‹P›, dbtable=orders}",
    "a header": "Authorization: Bearer ‹P›",
    "a basic header": "{'Authorization': 'Basic ‹P›'}",
}
PASSWORDS = {
    "plain": "hunter2",
    "encoded": "p%40ss%2Fw%C3%B6rd",
    "with signs": "pa$s!w*o~r^d",
    "base64": "q83vEjRWeJCrze8SNFZ4kA==",
    "with an at": "p@ss@word",
    "with a colon": "pa:ss",
    "of words": "correct-horse.battery_staple",
}


@pytest.mark.parametrize("password", PASSWORDS.values(), ids=PASSWORDS)
@pytest.mark.parametrize("form", TEXTS.values(), ids=TEXTS)
def test_a_password_in_a_text_is_hidden_and_nothing_else(form: str, password: str) -> None:
    text = re.sub("‹(.*?)›", lambda part: part[1].replace("P", password), form)
    expected = re.sub("‹.*?›", HIDDEN, form)
    assert redact(text) == expected
    assert redact(f"cannot connect to {text} now") == f"cannot connect to {expected} now"
    assert redact(f'{{"url": "{text}", "n": 1}}') == f'{{"url": "{expected}", "n": 1}}'


TOKENS = {
    "AWS key id": "AKIAIOSFODNN7EXAMPLE",
    "JSON web token": "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U",
    "Databricks": "dapi0123456789abcdef0123456789abcdef",
    "GitHub": "ghp_" + "a1B2" * 9,
}


@pytest.mark.parametrize("token", TOKENS.values(), ids=TOKENS)
def test_a_token_that_looks_like_one_is_hidden_anywhere(token: str) -> None:
    assert redact(f"403 for {token}, retry") == f"403 for {HIDDEN}, retry"


def test_a_bearer_token_is_hidden_in_any_text() -> None:
    assert redact("sent bearer q83vEjRWeJCrze8SNFZ4kA== twice") == f"sent bearer {HIDDEN} twice"


def test_a_token_in_place_of_a_user_is_hidden() -> None:
    assert redact("https://glpat99x@gitlab.com/acme/shop.git") == f"https://{HIDDEN}@gitlab.com/acme/shop.git"


def test_a_quoted_password_of_oracle_is_hidden() -> None:
    assert redact('jdbc:oracle:oci:scott/"p/w,d"@db:1521:x') == f"jdbc:oracle:oci:{HIDDEN}@db:1521:x"


HARMLESS = (
    "spark.sql.shuffle.partitions=200",
    "Filter (isnotnull(token_count#3) AND (token_count#3 > 5))",
    "(token#1 = abcdef)",
    "PushedFilters: [IsNotNull(password), EqualTo(password,open)], ReadSchema: struct<password:string>",
    "HashAggregate(keys=[api_key#1, shop#2], functions=[sum(amount#3)], output=[api_key#1])",
    "Exchange hashpartitioning(secret_id#1, 200), ENSURE_REQUIREMENTS, [plan_id=12]",
    "SELECT token, count(*) FROM t WHERE token='abc' GROUP BY token",
    "/data/events/token_count=5/part-0.parquet",
    "abfss://container@account.dfs.core.windows.net/orders",
    "jdbc:postgresql://db:5432/shop?ssl=true&currentSchema=keyspace",
    "jdbc:oracle:thin:@//db:1521/shop",
    "hdfs://namenode:8020/orders and mail to a@b.example",
    "fs.s3a.aws.credentials.provider=org.apache.hadoop.fs.s3a.SimpleAWSCredentialsProvider",
    "https://host:4040/jobs?page=2&sort=key",
    "the bearer of bonds and a basic understanding",
    "unexpected token: WHERE",
    "a;keys=2;design=x",
    content_id("pol", ["x"]),
)


@pytest.mark.parametrize("text", HARMLESS)
def test_what_is_no_secret_is_shown(text: str) -> None:
    assert redact(text) == text
    assert redact_all([{"detail": text}]) == [{"detail": text}]


@pytest.mark.parametrize("phase", ["initial", "final"])
def test_a_plan_without_secrets_stays_as_it_is(phase: str) -> None:
    details = [node.detail for node in plan_of(captured(phase)).nodes]
    assert details
    assert redact_all(details) == details


@settings(deadline=None)
@given(st.text(alphabet="pasword=:/@?&;{}'\" \\k.-", max_size=60))
def test_what_was_redacted_once_stays_as_it_is(text: str) -> None:
    once = redact(text)
    assert redact(once) == once


# Secrets that were learned


@settings(deadline=None)
@given(SECRETS, st.text(), st.text())
def test_a_learned_secret_is_nowhere(secret: str, before: str, after: str) -> None:
    assume(secret not in before + HIDDEN + after)
    assume(not secret.isdecimal() or not (before[-1:].isdecimal() or after[:1].isdecimal()))
    redaction._known.clear()
    learn([secret])
    spelled = [
        secret,
        quote(secret),
        quote(secret, safe=""),
        json.dumps(secret),
        json.dumps(secret, ensure_ascii=False),
    ]
    for spelling in spelled:
        assert spelling.strip('"') not in redact(f"{before}{spelling}{after}")


def test_the_longest_of_several_secrets_goes_first() -> None:
    learn("hunter2-and-more"[:size] for size in range(6, 17))
    assert redact("it is hunter2-and-more") == f"it is {HIDDEN}"


def test_a_secret_in_the_middle_of_a_word_is_hidden() -> None:
    learn(["k-93fa"])  # the optimizer joins literals: concat('x', 'k-93fa')
    assert redact("xk-93fay") == f"x{HIDDEN}y"


def test_a_number_is_hidden_only_as_a_whole() -> None:
    learn(["77001"])
    assert redact("n#1 = 77001, m#2 = 1770015, 77001.5") == f"n#1 = {HIDDEN}, m#2 = 1770015, {HIDDEN}.5"


@pytest.mark.parametrize("value", ["", "abc", "    ", "true", "False", "NULL", "none"])
def test_what_ordinary_texts_are_full_of_is_never_learned(value: str) -> None:
    learn([value])
    assert redact(f"Batched: {value}, {value}") == f"Batched: {value}, {value}"


def test_ids_of_planopt_are_left_alone_by_a_secret_that_is_in_one_by_chance() -> None:
    own = content_id("inp", ["x"])
    event = "obs-a9d3fff70544-revenue-b0"
    learn([own[6:11], "d3fff7"])
    assert redact(f"{own} {event} {own[6:11]} d3fff7") == f"{own} {event} {HIDDEN} {HIDDEN}"


def test_a_long_secret_that_looks_like_an_id_of_planopt_is_hidden() -> None:
    learn(["key_0123456789abcdef"])
    assert redact("with key_0123456789abcdef in it") == f"with {HIDDEN} in it"


# Plain data


def test_every_text_in_plain_data_is_redacted_and_all_else_stays() -> None:
    learn(["hunter2"])
    content = {"a": "x hunter2", "b": ["hunter2", 7, None, 1.5, True], "c": {"hunter2": ("hunter2",)}, "e": b"hunter2"}
    assert redact_all(content) == {
        "a": f"x {HIDDEN}",
        "b": [HIDDEN, 7, None, 1.5, True],
        "c": {HIDDEN: [HIDDEN]},
        "e": b"hunter2",  # packed plans are redacted before they are packed
    }


def test_names_of_tables_and_columns_stay_whatever_is_secret() -> None:
    learn(["plan", "detail"])
    rows = {"plan_nodes": [{"detail": "the plan in detail", "token": '{"plan": 1}'}]}
    assert redact_rows(rows) == {"plan_nodes": [{"detail": f"the {HIDDEN} in {HIDDEN}", "token": f'{{"{HIDDEN}": 1}}'}]}


@pytest.mark.parametrize("secret", ['a"b\\c', "größe-9", "line\nbreak", "77001"])
def test_json_with_a_secret_stays_json(secret: str) -> None:
    learn([secret])
    content: dict[str, Any] = {"value": secret, "deep": [{"text": f"({secret})"}], "bytes": 77001}
    found = redact_all(json.dumps(content))
    assert json.loads(found) == {"value": HIDDEN, "deep": [{"text": f"({HIDDEN})"}], "bytes": 77001}


def test_json_in_json_is_redacted_too() -> None:
    learn(['a"bcd'])
    found = redact_all(json.dumps({"inner": json.dumps(['a"bcd'])}))
    assert json.loads(json.loads(found)["inner"]) == [HIDDEN]


def test_json_without_a_secret_stays_the_same_bytes() -> None:
    text = '{"b":1.50,  "a":[1e3, "x"]}'
    assert redact_all(text) == text


@pytest.mark.parametrize("text", ["[id=#30] k-93fa", "{not json} k-93fa", "[", "{"])
def test_a_text_that_only_looks_like_json_is_redacted_as_text(text: str) -> None:
    learn(["k-93fa"])
    assert redact_all(text) == text.replace("k-93fa", HIDDEN)


def test_a_value_named_like_a_secret_is_hidden_by_its_name() -> None:
    given_ = {"password": "abc", "token": 12, "token_count": 12, "has_token": True, "api_key": None, "secret": ""}
    hidden = {"password": HIDDEN, "token": HIDDEN, "token_count": 12, "has_token": True, "api_key": None, "secret": ""}
    assert redact_all(given_) == hidden


def test_no_column_of_the_store_is_named_like_a_secret() -> None:
    assert [c for schema in TABLES.values() for c in schema.names if is_secret_name(c)] == []


# Names


@pytest.mark.parametrize(
    "name",
    [
        "spark.hadoop.fs.s3a.access.key",
        "spark.hadoop.fs.s3a.secret.key",
        "spark.hadoop.fs.s3a.session.token",
        "fs.s3a.encryption.key",
        "fs.azure.account.key.acme.dfs.core.windows.net",
        "fs.azure.sas.container.acme.blob.core.windows.net",
        "fs.azure.account.oauth2.client.secret",
        "fs.gs.auth.service.account.private.key",
        "spark.ssl.keyPassword",
        "spark.authenticate.secret",
        "sfPassword",
        "pem_private_key",
        "PWD",
        "passphrase",
        "apiKey",
        "aws_access_key_id",
        "db.credentials",
    ],
)
def test_names_of_secrets(name: str) -> None:
    assert is_secret_name(name)


@pytest.mark.parametrize(
    "name",
    [
        "spark.sql.shuffle.partitions",
        "spark.authenticate",
        "token_count",
        "tokenCount",
        "secret.file",
        "token.class",
        "tokenClass",
        "TOKEN_URLS",
        "spark.ssl.keyStoreType",
        "spark.security.credentials.hive.enabled",
        "fs.s3a.aws.credentials.provider",
        "spark.kubernetes.driver.secretName",
        "key",
        "customer_key",
        "sasquatch",
        "since",
    ],
)
def test_names_of_other_things(name: str) -> None:
    assert not is_secret_name(name)


# Literals that a query marks


@pytest.mark.parametrize(
    ("sql", "literals"),
    [
        ("SELECT 1", ()),
        ("WHERE k = /* secret */ 'k-93fa'", ("k-93fa",)),
        ("WHERE k = /*SECRET*/'k-93fa' OR j = /* Secret */\n 'other'", ("k-93fa", "other")),
        ('WHERE k = /* secret */ "k-93fa"', ("k-93fa",)),
        (r"WHERE k = /* secret */ 'it\'s ''so'' it'", (r"it\'s ''so'' it",)),
        ("WHERE k IN (/* secret */ 77001, /* secret */ -12.50, 3)", ("77001", "-12.50")),
        ("WHERE d = /* secret */ DATE '2020-01-02'", ("2020-01-02",)),
        ("WHERE k = /* secret */ r'raw-93fa'", ("raw-93fa",)),
        ("WHERE k = /* secret */ 'k-93' 'fa01' AND x", ("k-93", "fa01")),
        ("WHERE k = /* secret */ :k AND j = /* secret */ (1) AND /* secret */", ("", "", "")),
        ("WHERE k = /* secret */ password AND j = 'x'", ("",)),
        ("WHERE k = /* no secret */ 'k-93fa'", ()),
    ],
)
def test_literals_that_a_query_marks(sql: str, literals: tuple[str, ...]) -> None:
    assert marked_literals(sql) == literals


@pytest.mark.parametrize(
    ("written", "shown"), [(r"it\'s-me", "it's-me"), ("it''s-me", "it's-me"), ("it''s-me", "its-me")]
)
def test_a_literal_is_hidden_as_it_is_written_and_as_it_is_shown(written: str, shown: str) -> None:
    learn([written])
    assert redact(f"({written}) ({shown})") == f"({HIDDEN}) ({HIDDEN})"


def test_passwords_in_urls_can_be_learned_without_the_users() -> None:
    text = "jdbc:mysql://me:hunter2@db/x?user=me&password={s3;cret} jdbc:oracle:thin:scott/tiger@db https://you@db"
    assert url_passwords(text) == ("hunter2", "tiger", "s3;cret")


# Where it is applied


def test_an_error_shows_no_secret_anywhere() -> None:
    learn(["hunter2"])
    error = PlanoptError("no hunter2", where="db/hunter2", fix="change hunter2")
    assert error.facts() == {
        "code": "PLN-000",
        "where": f"db/{HIDDEN}",
        "what": f"no {HIDDEN}",
        "fix": f"change {HIDDEN}",
    }
    assert "hunter2" not in f"{error} {error!r} {error.args}"


def test_special_errors_show_no_secret_either() -> None:
    learn(["hunter2"])
    one = WrongValue("`a` is hunter2", file="planopt.yaml", line=1, column=2, fix="write hunter3")
    refused = SqlRefused("`f(hunter2)` runs", query_id="q", part="f(hunter2)")
    many = WorkloadErrors((one, one))
    assert "hunter2" not in f"{one} {refused} {many} {one.facts()} {refused.facts()} {many.facts()}"


def test_an_error_hides_a_password_that_nobody_told_of() -> None:
    error = PlanoptError("cannot reach jdbc:postgresql://db/x?password=hunter2", fix="look")
    assert str(error) == f"PLN-000 cannot reach jdbc:postgresql://db/x?password={HIDDEN}. Fix: look"
