"""Whether the quotes of a line of CSV match: alike for all engines.

A quote begins a field, or ends one that it began, or is doubled within such a field. What is left when doubled ones and
whole quoted fields are taken away opens or closes nothing: the line may be a piece of a field with a line break, which would
become two wrong rows.
"""

import re
from typing import Final

UNMATCHED_QUOTES: Final = (
    "the quotes of a line do not match: a quoted field begins and ends with a quote on one line, since no field may hold "
    "a line break; a quote within it is doubled"
)
OTHER_WIDTH: Final = "a line has too many or too few fields"


def quoted_field_of(delimiter: str) -> str:
    """The pattern of a field in quotes, with the delimiter before it as its first group. It takes no line apart in more ways
    than one."""
    mark, spaces = re.sub(r"(\W)", r"\\\1", delimiter), "" if delimiter == " " else " *"
    return f'(^|{mark}){spaces}"[^"]*"{spaces}(?={mark}|$)'
