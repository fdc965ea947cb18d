"""A reading head over the DDL of one SQL file: look at a token, take it, or say what was expected instead.

A statement that can't be read further is given up by raising `Abandoned` with the diagnostic; `statements` catches it,
skips to the next statement and goes on. Nothing else sees that exception.
"""

from typing import NoReturn

from reconciler.base.diagnostics import Diagnostic, Location
from reconciler.sql.lexer import Dialect, Kind, Token, next_token
from reconciler.sql.limits import HINT, MAXIMUM_PROBLEMS, TOO_MANY_TOKENS
from reconciler.sql.positions import Positions


class Abandoned(Exception):
    """The statement can't be read further, and why."""

    def __init__(self, diagnostic: Diagnostic) -> None:
        super().__init__(diagnostic.message)
        self.diagnostic = diagnostic


def shown(token: Token) -> str:
    """A token as named in messages."""
    if token.kind is Kind.END:
        return "the end of the file"
    text = token.text if len(token.text) <= 30 else token.text[:27] + "…"
    return text if token.kind is Kind.STRING or token.kind is Kind.QUOTED else f"'{text}'"


def unreadable(token: Token) -> tuple[str, Token, str, str]:
    """What a BAD token is: code, the token, message, hint."""
    if token.text == TOO_MANY_TOKENS:
        return "S290", token, token.text, HINT
    return "S201", token, token.text, "close it: the rest of the file can't be read"


def is_template(text: str, token: Token) -> bool:
    """Whether a template's opening stands here: `{{`, `{%`, `{#` or `${`."""
    return token.kind is Kind.SYMBOL and text.startswith(("{{", "{%", "{#", "${"), token.start)


class Cursor:
    """The head. `position` is the offset after the last token taken; `taken` is that token's end."""

    def __init__(self, text: str, file: str) -> None:
        self.text = text
        self.position = 0
        self.positions = Positions(text, Location(file, 1, 1))
        self.diagnostics: list[Diagnostic] = []

    def at(self, offset: int) -> Location:
        return self.positions.at(offset)

    def peek(self) -> Token:
        """The next token, not taken."""
        return next_token(self.text, self.position, Dialect.DDL)

    def take(self) -> Token:
        """The next token, taken. Text that can't be cut and templates give the statement up."""
        token = self.peek()
        if token.kind is Kind.BAD:
            self.unreadable(token)
        if is_template(self.text, token):
            self.fail(
                "S215", token, "templates are not expanded in SQL", "write the value itself, or use a variable in YAML"
            )
        self.position = token.end
        return token

    def unreadable(self, token: Token) -> NoReturn:
        self.position = token.end
        self.fail(*unreadable(token))

    def report(self, code: str, token: Token, message: str, hint: str | None = None) -> None:
        """Note a problem and go on with the statement; with the last that is told, leave the file."""
        problem = Diagnostic(code, message, self.at(token.start), hint)
        if len(self.diagnostics) >= MAXIMUM_PROBLEMS - 1:
            raise Abandoned(problem)
        self.diagnostics.append(problem)

    def note(self, abandoned: Abandoned) -> bool:
        """Note why a statement was given up. Whether to go on: after so many problems, the rest of the file is not read."""
        self.diagnostics.append(abandoned.diagnostic)
        if len(self.diagnostics) < MAXIMUM_PROBLEMS:
            return True
        message = f"the file has {MAXIMUM_PROBLEMS} problems or more; the rest was not read"
        self.diagnostics.append(Diagnostic("S291", message, abandoned.diagnostic.location, "begin with the first one"))
        return False

    def fail(self, code: str, token: Token, message: str, hint: str | None = None) -> NoReturn:
        """Note a problem and give the statement up."""
        raise Abandoned(Diagnostic(code, message, self.at(token.start), hint))

    def accept_word(self, *words: str) -> Token | None:
        """Take the next token when it is one of these words."""
        return self.take() if self.peek().is_word(*words) else None

    def accept_symbol(self, symbol: str) -> Token | None:
        """Take the next token when it is this symbol."""
        return self.take() if self.peek().is_symbol(symbol) else None

    def expect_word(self, word: str, where: str) -> Token:
        token = self.take()
        if not token.is_word(word):
            self.position = token.start
            self.fail("S203", token, f"expected {word} {where}, found {shown(token)}")
        return token

    def expect_symbol(self, symbol: str, where: str, hint: str | None = None) -> Token:
        token = self.take()
        if not token.is_symbol(symbol):
            self.position = token.start
            self.fail("S203", token, f"expected '{symbol}' {where}, found {shown(token)}", hint)
        return token

    def expect_name(self, what: str) -> Token:
        """A name, quoted or not; whether it is a legal one is for the caller to judge."""
        token = self.take()
        if token.kind not in (Kind.WORD, Kind.QUOTED):
            self.position = token.start
            self.fail("S203", token, f"expected {what}, found {shown(token)}")
        return token
