"""Programs with a model in them: what ``c`` and ``java`` have in common."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import ClassVar

from rankwright.exports.interpreters.tables import by_tables
from rankwright.exports.refusals import Refusal
from rankwright.exports.rules import Rules
from rankwright.exports.targets.tables import FoundTable, Tables, read_tables, tables_of
from rankwright.exports.targets.target import Judge, Options, Target, Written


class SourceCode(Target):
    """Tables of numbers, and a few lines of code that walk them."""

    number = "float64"
    leaves = "own"
    arithmetic = "lanes"
    gives_labels = True
    words: ClassVar[frozenset[str]] = frozenset()
    """What the language does not take as the name of a model."""

    def text(self, rules: Rules, name: str, tables: Tables) -> str:
        """Return the program of a model with these tables."""
        raise NotImplementedError

    def tables_in(self, text: str, name: str) -> Iterable[FoundTable]:
        """Return the tables in a program."""
        raise NotImplementedError

    def refusals(self, rules: Rules, options: Options) -> Iterator[Refusal]:
        """Yield why a model cannot go there."""
        if not self.can_call(options.name):
            yield self.cannot_call(options.name)

    def can_call(self, name: str) -> bool:
        """Tell whether a model can have a name."""
        return name.isascii() and name.isidentifier() and name not in self.words

    def cannot_call(self, name: str) -> Refusal:
        """Return the refusal of a name."""
        return Refusal(
            "names",
            f"in {self.name} a model is called by ASCII letters, digits and _, not first a digit, "
            f"and by no word of the language, but this one is called {name!r:.50}",
            "give another name (--name)",
        )

    def write(self, rules: Rules, options: Options) -> Written:
        """Return the program."""
        return Written(self.text(rules, options.name, tables_of(rules)).encode())

    def interpreter(self, content: bytes, rules: Rules, options: Options) -> Judge:
        """Return what reads the tables; a DataError if the code around them is not ours."""
        return by_tables(self.read(content, rules, options), rules.n_features, rules.labels)

    def read(self, content: bytes, rules: Rules, options: Options) -> Tables:
        """Return the tables; a DataError if the code around them, which is run, is not ours."""
        text, name = content.decode(errors="replace"), options.name
        if not self.can_call(name):  # it is in the code, and in the names of files
            raise self.cannot_call(name)
        return read_tables(
            self.tables_in(text, name), text, lambda tables: self.text(rules, name, tables)
        )
