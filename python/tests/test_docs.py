"""Examples of documents and docstrings give what they say."""

import doctest
import importlib.util
import os
import re

import pytest

TOP = os.path.join(os.path.dirname(__file__), "..", "..")


@pytest.mark.parametrize("name", ["_library", "_reductions", "_files", "_accumulators", "mpi", "dask", ""])
def test_docstrings(name):
    if name == "dask":
        pytest.importorskip("dask.array")
    module = importlib.import_module("gpureduce." + name if name else "gpureduce")
    result = doctest.testmod(module)
    assert result.failed == 0 and result.attempted > 0


@pytest.mark.parametrize("document", ["doc/python.md", "README.md"])
def test_documents(document, tmp_path, monkeypatch):
    with open(os.path.join(TOP, document), encoding="utf-8") as file:
        blocks = re.findall(r"^```python\n(.*?)^```", file.read(), re.MULTILINE | re.DOTALL)
    assert blocks
    monkeypatch.chdir(tmp_path)
    names = {}
    for i, block in enumerate(blocks):
        packages = re.findall(r"import (torch|dask)\b", block)
        if all(importlib.util.find_spec(package) for package in packages):
            test = doctest.DocTestParser().get_doctest(block, names, f"{document}, block {i}", document, 0)
            result = doctest.DocTestRunner().run(test, clear_globs=False)
            names.update(test.globs)
            assert result.failed == 0 and result.attempted > 0
