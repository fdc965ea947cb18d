"""What looks like a credential is masked in any text: tokens of well-known services, what a name of a secret is set to."""

import pytest

from reconciler.base.secrets.redaction import masked, masked_in_code


@pytest.mark.parametrize(
    "text",
    [
        '{"password": "ZqSECRET"}',
        "{'client_secret': 'ZqSECRET'}",
        "Authorization: Bearer ZqSECRET",
        "it said 'Bearer ZqSECRETZqSECRET'",
        "authorization: Basic ZqSECRET",
        "X-Api-Key: ZqSECRET",
        "set-cookie: ZqSECRET",
        "ghp_ZqSECRETZqSECRET0123456789",
        "eyJZqSECRET00.eyJZqSECRET.ZqSECRET",
        "postgres://bob:a b ZqSECRET@host",
        "-----BEGIN RSA PRIVATE KEY-----\nZqSECRET\n-----END RSA PRIVATE KEY-----",
    ],
)
def test_what_looks_like_a_credential_is_masked_in_any_text(text: str) -> None:
    assert "ZqSECRET" not in masked(f"before {text} after")


_HEX, _LETTERS = "0a1b2c3d4e5f6071" * 4, "aB3dE5fG" * 8
TOKENS = (
    ("sk_live_", _LETTERS[:24]),
    ("rk_live_", _LETTERS[:24]),
    ("sk_test_", _LETTERS[:24]),
    ("rk_test_", _LETTERS[:24]),
    ("SG.", f"{_LETTERS[:22]}.{_LETTERS[:43]}"),
    ("dop_v1_", _HEX),
    ("doo_v1_", _HEX),
    ("dor_v1_", _HEX),
    ("hvs.", _LETTERS[:24]),
    ("hvb.", f"{_LETTERS[:30]}-{_LETTERS[:30]}"),
    ("pypi-AgE", f"IcHlwaS5vcmc{_LETTERS[:40]}-{_LETTERS[:10]}"),
    ("shpat_", _HEX[:32]),
    ("shpss_", _HEX[:32]),
    ("SK", _HEX[:32]),
    ("key-", _HEX[:32]),
    ("NRAK-", "A1B2C3D4E5F6G7H8J9K0L1M2N3P"),
    ("glsa_", f"{_LETTERS[:32]}_{_HEX[:8]}"),
    ("lin_api_", _LETTERS[:40]),
    ("ATATT3", f"xFfGF0{_LETTERS[:40]}={_HEX[:8]}"),
    ("whsec_", f"{_LETTERS[:30]}+/="),
    ("xapp-", f"1-A0B1C2D3E4F-0123456789012-{_HEX}"),
    ("ya29.", f"a0Af_by-{_LETTERS[:40]}"),
    ("glptt-", _HEX[:40]),
    ("glrt-", _LETTERS[:20]),
    ("glrt-", f"t1_{_LETTERS[:20]}"),
    ("gldt-", _LETTERS[:20]),
    ("glcbt-", f"64_{_LETTERS[:20]}"),
    ("glsoat-", _LETTERS[:20]),
    ("glagent-", _LETTERS[:50]),
)


@pytest.mark.parametrize(("sign", "rest"), TOKENS, ids=[sign for sign, _ in TOKENS])
def test_tokens_of_well_known_services_are_masked_in_any_text_and_in_code(sign: str, rest: str) -> None:
    token = sign + rest
    for text in (f"before {token} after", f"SELECT a = '{token}'", f"-- {token}\nSELECT 1"):
        assert masked(text) == text.replace(token, "***")
        assert masked_in_code(text) == (text.replace(token, "***"),)


@pytest.mark.parametrize(
    "text",
    [
        "sk_live_orders",
        "whsec_orders",
        "xapp-orders-of-every-country",
        "ya29.orders",
        "glrt-orders",
        "SG.accounts.countries_of_the_world",
        "pypi-mirror-of-all-packages-that-we-ever-used",
        "hvs.measurements",
        "lin_api_version_of_the_interface",
        f"key-{_HEX[:31]}",
        f"key-{_HEX[:33]}",
        f"SK{_HEX[:31]}",
        f"SK{_HEX[:33]}",
        f"TASK{_HEX[:32]}",
        "SKU0123456789012345678901234567890",
        _HEX[:32],
    ],
)
def test_names_that_only_begin_like_a_token_stand(text: str) -> None:
    assert masked(f"before {text} after") == f"before {text} after"
    assert masked_in_code(f"SELECT a = '{text}'") == (f"SELECT a = '{text}'",)


@pytest.mark.parametrize("user", ["AKIAIOSFODNN7EXAMPLE", "bob", "***"])
def test_a_password_goes_whatever_its_user_is(user: str) -> None:
    once = masked_in_code(f"s3://{user}:hunter2secret@bucket/x")
    assert "hunter2secret" not in once[0]
    assert masked_in_code(*once) == once
