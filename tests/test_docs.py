import re
from pathlib import Path

import pytest

import skgraft
import skgraft.datasets

REPOSITORY = Path(__file__).parents[1]
DOCS = REPOSITORY / "docs"
GUIDE = sorted((DOCS / "guide").glob("*.rst"))
EXAMPLES = sorted((REPOSITORY / "examples").glob("plot_*.py"))


def listed_names():
    """The entries of the reference's tables, and what it describes in place."""
    page = (DOCS / "api.rst").read_text(encoding="utf-8")
    return set(re.findall(r"^ {3}([\w.]+)$", page, re.MULTILINE)) | set(
        re.findall(r"^\.\. (?:data|module):: (\S+)", page, re.MULTILINE)
    )


@pytest.mark.parametrize("name", sorted(set(skgraft.__all__) - {"datasets"}))
def test_public_names_are_in_the_reference(name):
    assert name in listed_names()


@pytest.mark.parametrize("name", sorted(skgraft.datasets.__all__))
def test_public_names_of_datasets_are_in_the_reference(name):
    assert f"datasets.{name}" in listed_names()


def test_subpackages_are_in_the_reference():
    assert "skgraft.datasets" in listed_names()


def test_every_guide_page_is_reached_from_its_index():
    index = (DOCS / "guide" / "index.rst").read_text(encoding="utf-8")
    assert {page.stem for page in GUIDE} - {"index"} == set(re.findall(r"^ {3}([\w-]+)$", index, re.MULTILINE))


@pytest.mark.parametrize("page", GUIDE, ids=lambda page: page.stem)
def test_links_between_pages_lead_somewhere(page):
    text = page.read_text(encoding="utf-8")
    for target in re.findall(r":doc:`(?:[^`<]*<)?([^`>]+)>?`", text):
        at = DOCS / target[1:] if target.startswith("/") else page.parent / target
        assert at.with_name(at.name + ".rst").exists(), target
    for figure in re.findall(r"^\s*\.\. plot:: (\S+)", text, re.MULTILINE):
        assert (DOCS / figure).exists(), figure
    for example in re.findall(r"sphx_glr_auto_examples_(\w+\.py)", text):
        assert (REPOSITORY / "examples" / example).exists(), example


def test_every_code_block_of_the_guide_is_run(pytestconfig):
    paths = [(REPOSITORY / path).resolve() for path in pytestconfig.getini("testpaths")]
    assert DOCS / "guide" in paths
    assert DOCS / "index.rst" in paths
    for page in [*GUIDE, DOCS / "index.rst"]:
        languages = set(re.findall(r"code-block:: *(\w+)", page.read_text(encoding="utf-8")))
        assert languages <= {"console"}, f"{page.name} shows Python that no test runs: write it with >>>"


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.stem)
def test_examples_are_scripts_with_a_title_and_sections(example):
    text = example.read_text(encoding="utf-8")
    compile(text, example.name, "exec")
    title, line = text.split("\n")[1:3]
    assert set(line) == {"="}
    assert len(line) == len(title)
    assert "# %%" in text
