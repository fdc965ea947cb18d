"""What is a credential whatever the name before it says: tokens of well-known services, what follows `Bearer`, keys in
armour, users and secret parameters of addresses. References (`${secret:NAME}`) and marks (`***`) are none.
"""

import re
from typing import Final

from reconciler.base.patterns import lazy_pattern
from reconciler.base.secrets.names import names_a_secret_parameter

TOKEN: Final = lazy_pattern(
    r"(?<![A-Za-z0-9_-])(?:gh[pousr]_[A-Za-z0-9]{16,}|github_pat_[A-Za-z0-9_]{16,}|glpat-[A-Za-z0-9_-]{10,}"
    # GitLab: triggers, runners, deployments, jobs, SCIM, feeds, mails, agents, applications.
    r"|gl(?:ptt|rtr?|dt|cbt|soat|ft|imt|agent|oas|ffct)-[A-Za-z0-9_-]{20,}"
    r"|xox[a-z]-[A-Za-z0-9-]{10,}|xapp-[0-9]-[A-Za-z0-9-]{10,}|sk-[A-Za-z0-9_-]{16,}|dapi[0-9a-f]{16,}"
    r"|AIza[A-Za-z0-9_-]{20,}|ya29\.[A-Za-z0-9_-]{20,}|(?:AKIA|ASIA)[A-Z0-9]{12,}"
    r"|eyJ[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*){1,4}|npm_[A-Za-z0-9]{30,}|hf_[A-Za-z0-9]{30,}"
    # Stripe, SendGrid, DigitalOcean, Vault, PyPI, Shopify, Twilio and Mailgun, New Relic, Grafana, Linear, Atlassian.
    r"|[sr]k_(?:live|test)_[A-Za-z0-9]{16,}|whsec_[A-Za-z0-9+/]{24,}={0,2}"
    r"|SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}|do[opr]_v1_[0-9a-f]{32,}"
    r"|hv[sbr]\.[A-Za-z0-9_-]{20,}|pypi-AgE[A-Za-z0-9_-]{16,}|shp(?:at|ca|pa|ss)_[0-9A-Fa-f]{32,}"
    r"|(?:SK|key-)[0-9a-f]{32}(?![A-Za-z0-9])|NRAK-[A-Z0-9]{20,}|glsa_[A-Za-z0-9]{20,}_[0-9A-Fa-f]{8}"
    r"|lin_api_[A-Za-z0-9]{30,}|ATATT3[A-Za-z0-9_=-]{20,})"
)
ARMOUR: Final = lazy_pattern(r"-----BEGIN [A-Z0-9 ]{1,40}-----[^-]*(?:-----END [A-Z0-9 ]{1,40}-----)?")
BEARER: Final = lazy_pattern(
    r"(?P<scheme>(?<![A-Za-z0-9_])Bearer|(?<=[\"'])Basic)(?P<blank>\s{1,20})(?P<value>[A-Za-z0-9._~+/=-]{12,})"
)
PARAMETER: Final = lazy_pattern(r"(?P<start>[?&;](?P<name>[A-Za-z0-9._%-]{1,100})=)(?P<value>[^\s&;,#\"']+)")
USER: Final = lazy_pattern(
    r"(?:(?<![A-Za-z0-9+.-])(?P<scheme>[A-Za-z][A-Za-z0-9+.-]{0,30}:))?//(?P<user>[^/@\s:?#\"'<>]*)(?P<rest>:[^\"'<>\n]{0,300})?@"
)
_PORT: Final = lazy_pattern(r":\d+(/|\?|#)")
MARKED: Final = lazy_pattern(r"\*{3}[0-9]*")
REFERENCE: Final = lazy_pattern(r"\$\{(secret|var):[A-Za-z_][A-Za-z0-9_]*\}")


def is_secret_parameter(found: re.Match[str]) -> bool:
    value = found["value"]
    return names_a_secret_parameter(found["name"]) and not REFERENCE.match(value) and not MARKED.fullmatch(value)


def is_secret_user(found: re.Match[str]) -> bool:
    # A mark of before stands, or texts that are shown twice would lose which is which.
    is_marked = found["rest"] is None and MARKED.fullmatch(found["user"]) is not None
    return not is_marked and holds_a_secret(found)


def holds_a_secret(found: re.Match[str]) -> bool:
    """Whether what stands before the host of an address may be a password or a token."""
    rest = found["rest"]
    if rest is not None and _PORT.match(rest):
        # `//host:9092/path@x` has a port and no password.
        return False
    if rest is None:
        # A container (abfss://container@account) is no secret; what stands there over HTTP may be a token.
        return bool(found["user"]) and (found["scheme"] or "").lower().startswith(("http", "git", "ftp"))
    name, _, password = REFERENCE.sub("", f"{found['user']}{rest}").partition(":")
    return bool(password) or (bool(name) and not rest.endswith("}"))
