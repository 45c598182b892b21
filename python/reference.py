"""Copies the docstrings of the built package into its type hints and into the reference of python/GUIDE.md.

The docstrings are written in python/src. `python3 python/reference.py` writes both files; with --check it only says whether they are as it
would write them.
"""

import ast
import inspect
import pathlib
import sys
import textwrap

import flipside

ROOT = pathlib.Path(__file__).resolve().parents[1]
HINTS = ROOT / "python" / "package" / "flipside" / "__init__.pyi"
PAGE = ROOT / "python" / "GUIDE.md"
MARKER = "<!-- What follows is written by python/reference.py from the docstrings. -->\n"


def documented(text):
    """The functions and classes of the hints, with their members: each node, its name and its docstring at run time."""
    for node in ast.parse(text).body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            found = getattr(flipside, node.name)
            yield node, node.name, inspect.getdoc(found)
            for member in node.body if isinstance(node, ast.ClassDef) else []:
                if isinstance(member, ast.FunctionDef) and not member.name.startswith("__"):
                    yield member, f"{node.name}.{member.name}", inspect.getdoc(getattr(found, member.name))


def hints(text):
    """The hints with the docstrings of the package."""
    lines = text.splitlines()
    for node, name, doc in sorted(documented(text), key=lambda found: -found[0].lineno):
        assert doc, f"{name} has no docstring"
        first, indent = node.body[0], " " * (node.col_offset + 4)
        quoted = f'"""{doc}"""' if "\n" not in doc else f'"""{doc}\n"""'
        quoted = textwrap.indent(quoted, indent).splitlines()
        is_doc = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
        head = lines[first.lineno - 1][: first.col_offset].rstrip()
        if is_doc and head:
            # `def name(): ...` on one line.
            lines[first.lineno - 1 : first.end_lineno] = [head, *quoted]
        elif is_doc:
            lines[first.lineno - 1 : first.end_lineno] = quoted
        else:
            above = min([first.lineno, *(decorator.lineno for decorator in getattr(first, "decorator_list", []))])
            lines[above - 1 : above - 1] = [*quoted, ""]
    return "\n".join(lines) + "\n"


def signature(text, node):
    """A definition as it is in the hints, in one line."""
    if isinstance(node, ast.ClassDef):
        return None
    if any(ast.unparse(decorator) == "property" for decorator in node.decorator_list):
        return f": {ast.unparse(node.returns)}"
    arguments = ast.unparse(node.args).removeprefix("self").removeprefix(", ")
    return f"({arguments}) -> {ast.unparse(node.returns)}"


def reference(text):
    """The docstrings as Markdown."""
    parts = []
    for node, name, doc in documented(text):
        is_member = "." in name
        shown = signature(text, node)
        heading = f"#### {name}" if is_member else f"### {'class ' if shown is None else ''}flipside.{name}"
        code = f"\n```python\n{name}{shown}\n```\n" if shown else ""
        parts.append(f"{heading}\n{code}\n{doc}\n")
    return "\n".join(parts)


def main():
    texts = {}
    texts[HINTS] = hints(HINTS.read_text())
    page = PAGE.read_text()
    assert page.count(MARKER) == 1, f"{PAGE} has no line {MARKER}"
    texts[PAGE] = page[: page.index(MARKER)] + MARKER + "\n" + reference(texts[HINTS])
    for path, text in texts.items():
        if "--check" not in sys.argv:
            path.write_text(text)
        elif path.read_text() != text:
            sys.exit(f"{path.relative_to(ROOT)} is not up to date: run python3 python/reference.py")


if __name__ == "__main__":
    main()
