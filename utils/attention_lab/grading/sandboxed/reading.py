"""What a cell's text says before it runs: the names it makes and uses. Magics are taken out. Standard library only."""

from __future__ import annotations

import ast
import re
import symtable
from collections.abc import Iterator
from dataclasses import dataclass

#: The longest cell that is looked at, in characters, and the most names that are reported.
LONGEST, MOST = 200_000, 2_000

_HARMLESS = ("time", "timeit", "capture", "prun")


@dataclass(frozen=True)
class Reading:
    """What a cell says.

    Attributes:
        code: its text as Python, magics taken out, lines kept in place; "" when it is not Python.
        makes: names that it binds at the top level.
        uses: names that it needs from outside.
        defines: names of its top-level functions and classes, in order, with repeats.
        answers: names of questions that it calls `answer` with.
        fault: why it cannot run, in a sentence; "" when it can.
    """

    code: str = ""
    makes: tuple[str, ...] = ()
    uses: tuple[str, ...] = ()
    defines: tuple[str, ...] = ()
    answers: tuple[str, ...] = ()
    fault: str = ""


def read(source: str) -> Reading:
    """Look at a cell's text; never raises for what is in it."""
    if len(source) > LONGEST:
        return Reading(fault=f"the cell has more than {LONGEST:,} characters")
    first = source.lstrip().split("\n", 1)[0]
    if match := re.match(r"%%(\w+)", first):
        if match.group(1) not in _HARMLESS:
            return Reading(fault=f"the cell begins with %%{match.group(1)[:20]}, so it is not Python")
        source = source.replace(first, "", 1)
    for code in (source, _without_magics(source)):
        try:
            tree = ast.parse(code)
            table = symtable.symtable(code, "cell", "exec")
        except SyntaxError as error:
            fault = f"the cell is not Python: line {error.lineno}: {error.msg}"
            continue
        except (ValueError, RecursionError, MemoryError, OverflowError) as error:
            return Reading(fault=f"the cell cannot be read ({type(error).__name__})")
        return _reading(code, tree, table)
    return Reading(fault=fault)


def _without_magics(source: str) -> str:
    """Lines that only IPython understands, replaced by `pass`."""
    lines = []
    for line in source.split("\n"):
        bare = line.strip()
        magic = bare.startswith(("%", "!", "?")) or re.fullmatch(r"[\w.]+\?{1,2}", bare)
        if match := re.match(r"(\s*)%time(?:it)?\s+(?!-)(.*)", line):
            line = match.group(1) + match.group(2)
        elif match := re.match(r"(\s*)([\w, ]+?)\s*=\s*[%!]", line):
            line = f"{match.group(1)}{match.group(2)} = None"
        elif magic:
            line = line[: len(line) - len(line.lstrip())] + "pass"
        lines.append(line)
    return "\n".join(lines)


def _reading(code: str, tree: ast.Module, table: symtable.SymbolTable) -> Reading:
    bound = [s.get_name() for s in table.get_symbols() if s.is_assigned() or s.is_imported() or s.is_namespace()]
    names = [node for node in ast.walk(tree) if isinstance(node, ast.Name)]
    stored = {node.id for node in names if isinstance(node.ctx, ast.Store)}
    deleted = {node.id for node in names if isinstance(node.ctx, ast.Del)} - stored
    makes = [name for name in bound if name not in deleted]
    defines = [node.name for node in _top_level(tree.body) if isinstance(node, _DEFINITIONS)]
    answers = [name for node in ast.walk(tree) if (name := _answered(node))]
    uses = sorted(set(_used(table)))
    return Reading(code, tuple(makes[:MOST]), tuple(uses[:MOST]), tuple(defines[:MOST]), tuple(answers[:MOST]))


_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def _top_level(statements: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Statements at module level, those inside if, for, with and try among them."""
    for statement in statements:
        yield statement
        if isinstance(statement, _DEFINITIONS):
            continue
        for part in ("body", "orelse", "finalbody"):
            yield from _top_level(getattr(statement, part, []))
        for handler in getattr(statement, "handlers", []):
            yield from _top_level(handler.body)


def _answered(node: ast.AST) -> str:
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "answer" and node.args:
        first = node.args[0]
        if isinstance(first, ast.Constant) and isinstance(first.value, str):
            return first.value
    return ""


def _used(table: symtable.SymbolTable) -> Iterator[str]:
    waiting = [table]
    while waiting:
        scope = waiting.pop()
        waiting += scope.get_children()
        top = scope is table
        yield from (s.get_name() for s in scope.get_symbols() if s.is_referenced() and (top or s.is_global()))
