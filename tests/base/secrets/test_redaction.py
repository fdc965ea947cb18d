"""What is shown of texts that may hold secrets: names, tokens, what stands for a value and is none, lists, options."""

import pytest

from reconciler.base.secrets.names import is_secret_name
from reconciler.base.secrets.redaction import masked, masked_in_code


def shows(text: str, shown: str | None) -> None:
    """What is shown of a text of code (None: all of it), and that the same is shown of what was shown."""
    once = masked_in_code(text)
    assert once == (text if shown is None else shown,)
    assert masked_in_code(*once) == once


@pytest.mark.parametrize(
    "name",
    [
        *("SharedAccessKey", "SharedAccessSignature", "shared_access_key", "shared.access.signature", "eh.SharedAccessKey"),
        *("StorageAccountKey", "googleApiKey", "clientPrivateKey", "AWSAccessKey", "userPwd"),
    ],
)
def test_names_of_secrets(name: str) -> None:
    assert is_secret_name(name)


@pytest.mark.parametrize(
    "name",
    [
        "SharedAccessKeyName",
        "shared_access_key_name",
        "StorageAccountKeyName",
        "monkey",
        "sharedAccess",
        "primaryKey",
        "rapikeys",
    ],
)
def test_names_of_no_secrets(name: str) -> None:
    assert not is_secret_name(name)


def test_the_key_in_a_connection_string_is_masked_and_its_name_is_shown() -> None:
    text = "Endpoint=sb://x.servicebus.windows.net/;SharedAccessKeyName=Root;SharedAccessKey=hunter2/Zq9="
    assert masked(text) == text.replace("hunter2/Zq9=", "***")
    shows(f"a = '{text}'", f"a = '{text.replace('hunter2/Zq9=', '***')}'")
    shows("-- SharedAccessSignature=hunter2Zq9", "-- SharedAccessSignature=***")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("-- db/password: hunter2Zq9", "-- db/password: ***"),
        ("-- api/secret: hunter2Zq9", "-- api/secret: ***"),
        ("-- db:password: hunter2Zq9", "-- db:password: ***"),
        ("-- a=password: hunter2Zq9", "-- a=password: ***"),
        ("-- https://h/password: hunter2Zq9", "-- https://h/password: ***"),
        ("a = 'vault kv get user/password:hunter2Zq9'", "a = 'vault kv get user/password:***'"),
        ("a = 'db:password:hunter2Zq9'", "a = 'db:password:***'"),
        ("a = 'login=password:hunter2Zq9'", "a = 'login=password:***'"),
        ("a = 'user/password:8080hunter2'", "a = 'user/password:***'"),
        ("-- password:            hunter2Zq9", "-- password:            ***"),
        ("-- password            = hunter2Zq9", "-- password            = ***"),
        (f"password =\n{' ' * 40}'hunter2Zq9'", f"password =\n{' ' * 40}'***'"),
        ("password = /* of ours */ 'hunter2Zq9'", "password = /* of ours */ '***'"),
        ("password = -- of ours\n 'hunter2Zq9'", "password = -- of ours\n '***'"),
        ("{'password':  # of ours\n 'hunter2Zq9'}", "{'password':  # of ours\n '***'}"),
        ("map('password', /* of ours */ 'hunter2Zq9')", "map('password', /* of ours */ '***')"),
        ("-- password := hunter2Zq9", "-- password := ***"),
        ("a = 'https://h/token:8080' OR a = 'h/token:8080/x' OR a = 'h/token:8080?a=1' OR a = 'h/token:8080#a'", None),
        ("a = 'https://h/v1/secret:access'", None),
        ("/* `arn:aws:secret:access`, AWS::Auth::AccountId, aws:secretsmanager:service */", None),
        ('/* "password":\n          "hunter2Zq9" */', '/* "password":\n          "***" */'),
        ("/* token:\n          What somebody got. */", None),
        ("/* :token:\n    :type x: Text */", None),
        ("/* What reads a token\n    :type x: Text */", None),
        ("a = 'arn:aws:secretsmanager:eu:1:secret:x' OR a = 'urn:x:token:hunter'", None),
    ],
)
def test_what_stands_before_a_name_is_no_reason_to_show_its_value(text: str, shown: str | None) -> None:
    shows(text, shown)


@pytest.mark.parametrize(
    "value",
    [
        *(r"\\d+_hunter2Zq9", ".+!hunter2Zq9", "[a]*!hunter2Zq9", "(a|hunter2Zq9)", "{{x}}hunter2Zq9", "${{x}}hunter2Zq9"),
        *(".+]hunter2Zq9", ".+#hunter2Zq9", "{{x}}|hunter2Zq9", "{{x}}/hunter2Zq9"),
        *(".+$hunter2Zq9", ".+)hunter2Zq9", "(?:.+)hunter2Zq9", "(select!hunter2Zq9)", "int(hunter2Zq9)"),
    ],
)
def test_what_begins_like_a_pattern_or_a_place_to_fill_in_is_a_value(value: str) -> None:
    shows(f"a = 'password={value}'", "a = 'password=***'")
    shows(f"a = 'x?password={value}&b=1'", "a = 'x?password=***&b=1'")
    shows(f"-- password: {value}", "-- password: ***")
    shows(f"password = '{value}'", "password = '***'")


@pytest.mark.parametrize("value", ["{}hunter2Zq9", "{:hunter2Zq9", "{1hunter2Zq9", "{truehunter2Zq9", "{{1}}hunter2Zq9"])
def test_what_begins_like_a_structure_is_a_value(value: str) -> None:
    shows(f"-- password: {value}", "-- password: ***")


@pytest.mark.parametrize(
    "value",
    [
        *(
            r"(\\w+)",
            r"\\w+",
            "([^&]+)",
            "([^&]+)&b",
            ".*",
            "(.*?)$",
            "(?:[a-z]+)",
            r"([a-z]+)\\.([a-z]+)",
            "((.*))",
            ".+|b",
        ),
        *("[0-9]{3}", "{{x}}", "{{x}}-{{y}}", "${{ a.b }}"),
    ],
)
def test_a_whole_pattern_or_place_to_fill_in_stands(value: str) -> None:
    shows(f"a = 'password={value}'", None)
    shows(f"-- password={value}", None)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("""a = '{"password": ["hunter2Zq9"]}'""", """a = '{"password": ["***"]}'"""),
        ("-- password: [hunter2Zq9]", "-- password: [***]"),
        ("-- password=[hunter2Zq9, 'it is Zq9']", "-- password=[***, '***2']"),
        (
            "-- password: [[hunter2Zq9], [${secret:X}], [a, 1, null]] b",
            "-- password: [[***], [${secret:X}], [a, 1, null]] b",
        ),
        ("-- password: [hunter2Zq9", "-- password: [***"),
        ('-- "tokens": [{"a": "bcdef", "password": "hunter2Zq9"}]', '-- "tokens": [{"a": "bcdef", "password": "***"}]'),
        ('-- {\\"password\\": 1, "token": [\\"hunter2Zq9\\"]}', '-- {\\"password\\": 1, "token": [***]}'),
        ("-- password: ['a', bcde]hunter2Zq9 b", "-- password: *** b"),
        ("password = '[hunter2Zq9]'", "password = '***'"),
        ("password = ['hunter2Zq9', 'other2Zq9']", "password = ['***', '***2']"),
        ("{'password': ['hunter2Zq9']}", "{'password': ['***']}"),
        ("password: list[str] = ['hunter2Zq9']", "password: list[str] = ['***']"),
        ("map('password', array('hunter2Zq9'))", "map('password', array('***'))"),
        ('a = \'{"tokens": [1, 2], "token": [], "token": [{"a": 1}], "token": [true, "***"]}\'', None),
        ('-- `password = ["hunter2Zq9"]` b', '-- `password = ["***"]` b'),
        (
            "header = ['Package', 'Version'] OR\n tokens = ['access', 'refresh'] OR secret_columns = ['first', 'second']",
            None,
        ),
        ("token[0] = 'access' OR x['a'] in ['password', 'token']", None),
    ],
)
def test_values_in_a_list_are_values_of_its_name(text: str, shown: str | None) -> None:
    shows(text, shown)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ('{"password": ["hunter2Zq9"]}', '{"password": ***}'),
        ('{"password": [["hunter2Zq9"], ["a]b"]], "a": [1]}', '{"password": ***, "a": [1]}'),
        ("password: [hunter2Zq9", "password: ***"),
        ("password=[hunter2Zq9, other2Zq9]", "password=***"),
        ("password: [], b: [c]", "password: [], b: [c]"),
        ('{"password": ["${secret:X}", "${secret:Y}"]}', '{"password": ["${secret:X}", "${secret:Y}"]}'),
    ],
)
def test_a_list_of_secrets_is_masked_in_any_text(text: str, shown: str) -> None:
    assert masked(text) == shown
    assert masked(shown) == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("OPTIONS (user 'a' /* ** */, password 'hunter2Zq9')", "OPTIONS (user 'a' /* ** */, password '***')"),
        (f"OPTIONS (a 'b' /* {'c' * 300} */, password 'hunter2Zq9')", f"OPTIONS (a 'b' /* {'c' * 300} */, password '***')"),
        ("OPTIONS (user upper('a'), password 'hunter2Zq9')", "OPTIONS (user upper('a'), password '***')"),
        ("OPTIONS (a ?, b :c, password 'hunter2Zq9')", "OPTIONS (a ?, b :c, password '***')"),
        ("OPTIONS (a.`password` 'hunter2Zq9')", "OPTIONS (a.`password` '***')"),
        ("OPTIONS (`a`.`password` 'hunter2Zq9')", "OPTIONS (`a`.`password` '***')"),
        ("OPTIONS (`a`.password 'hunter2Zq9')", "OPTIONS (`a`.password '***')"),
        (f"OPTIONS\n{' ' * 8}(password 'hunter2Zq9')", f"OPTIONS\n{' ' * 8}(password '***')"),
        ("OPTIONS /* a */ -- b\n (password 'hunter2Zq9')", "OPTIONS /* a */ -- b\n (password '***')"),
        ("OPTIONS (password = concat('hunter2Zq9',''))", "OPTIONS (password = concat('***',''))"),
        ("OPTIONS (password = concat ('hunter2', lower('Zq9z')))", "OPTIONS (password = concat ('***', lower('***2')))"),
        ("OPTIONS (password = ('hunter2Zq9'))", "OPTIONS (password = ('***'))"),
        ("OPTIONS (password = a || 'hunter2Zq9' || b)", "OPTIONS (password = a || '***' || b)"),
        ("OPTIONS (password hunter2!Zq9, user b)", "OPTIONS (password ***, user b)"),
        ("OPTIONS (password `hunter2Zq9`)", "OPTIONS (password `***`)"),
        ("OPTIONS (SET password 'hunter2Zq9', DROP user)", "OPTIONS (SET password '***', DROP user)"),
        ("-- don't options(\nSELECT OPTIONS (password 'hunter2Zq9')", "-- don't options(\nSELECT OPTIONS (password '***')"),
        ("OPTIONS (user upper('a', 'password'), b c('d'))", None),
        ("SELECT options(a), properties FROM t WHERE password IN ('hunter2Zq9')", None),
    ],
)
def test_a_list_of_options_is_read_to_its_end(text: str, shown: str | None) -> None:
    shows(text, shown)
