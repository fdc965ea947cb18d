"""Which arguments of a call its value may be made of: of most all, of some none that says which or how (a pattern, a format,
a path, a key). Of a function that is not known here every argument counts."""

from typing import Final


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


OF_PAIRS: Final = _words(
    "map struct named_struct create_map option options set config conf get getenv setdefault getattr setattr put pop header"
    " property setproperty param"
)
"""What takes names and values in turn."""

_FIRST_ALONE: Final = _words(
    "get_json_object json_value regexp_extract regexp_extract_all regexp_substr regexp_count split split_part"
    " substring_index substr substring left right date_format to_date to_timestamp try_to_timestamp"
    " from_unixtime unix_timestamp from_json from_csv to_json to_char to_varchar parse_url json_tuple encode"
    " sha2 lpad rpad element_at try_element_at cast try_cast from_utc_timestamp to_utc_timestamp str_to_map"
    " translate"
)
_ALL_BUT_THE_FIRST: Final = _words("get getenv pop if iff date_trunc nvl2 getattr format_string printf")
_NONE: Final = _words(
    "getpass input col column open compile get_secret get_secret_value secret variant_get try_variant_get date_part extract"
    " exists starts_with startswith endswith contains array_contains match search fullmatch"
)
_METHODS_OF_TEXTS: Final = _words(
    "split rsplit strip lstrip rstrip removeprefix removesuffix encode decode partition rpartition splitlines"
)


def may_be_value(function: str, argument: int) -> bool:
    """Whether an argument, counted from 0, of a function may be the value of the call, or a part of it."""
    if function in _NONE:
        return False
    if argument == 0:
        return function not in _ALL_BUT_THE_FIRST
    return function not in _FIRST_ALONE


def may_hold_values(function: str) -> bool:
    """Whether what stands in a call within an argument of a function may be a part of its value: also within an argument
    that says which or how, of which only what it says itself is none (`get(array('x'), 0)`)."""
    return function not in _NONE


def takes_values(method: str) -> bool:
    """Whether what a method is called with may become a part of what it gives."""
    return method not in _METHODS_OF_TEXTS
