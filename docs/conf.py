"""How the documentation is built; see https://www.sphinx-doc.org."""

import inspect
import shutil
from pathlib import Path
from typing import Any

import skgraft

HERE = Path(__file__).parent
REPOSITORY = HERE.parent

project = "skgraft"
author = "skgraft developers"
project_copyright = author
version = release = skgraft.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "numpydoc",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "matplotlib.sphinxext.plot_directive",
    "myst_parser",
]
exclude_patterns = ["_build", "_templates", "auto_examples/**.ipynb", "sg_execution_times.rst"]
templates_path = ["_templates"]
suppress_warnings = [
    "config.cache",  # sphinx-gallery's settings hold functions, which cannot be stored between builds
    "myst.header",  # result tables are Markdown fragments that may begin with a small heading
    "myst.xref_missing",  # and may point at files of the repository that are no pages here
]
nitpicky = False

# --- reference ---

autosummary_generate = True
autodoc_typehints = "none"  # the docstrings tell the types in words
autodoc_member_order = "bysource"
numpydoc_show_class_members = False  # the template lists them
numpydoc_xref_param_type = False
numpydoc_validation_checks = {"GL06", "GL07", "GL08", "PR01", "PR02", "RT01", "SS01", "YD01"}
numpydoc_validation_exclude = {
    # dataclasses: their fields are listed as attributes, not as parameters
    r"\.(GraftPath|PathPoint|GBFSPath|Tree|Certificate|History|Record|SelectionProblem)$",
}

# --- examples ---

sphinx_gallery_conf = {
    "examples_dirs": str(REPOSITORY / "examples"),
    "gallery_dirs": "auto_examples",
    "filename_pattern": r"plot_",
    "within_subsection_order": "FileNameSortKey",
    "download_all_examples": False,
    "show_memory": False,
    "show_signature": False,
    "min_reported_time": 1000,
    "remove_config_comments": True,
    "abort_on_example_error": True,
}

# --- pictures of the guide ---

plot_formats = [("png", 120)]
plot_html_show_source_link = False
plot_html_show_formats = False
plot_include_source = False

# --- pages ---

html_theme = "pydata_sphinx_theme"
html_title = f"skgraft {version}"
html_static_path = ["_static"]
html_css_files = ["skgraft.css"]
html_show_sourcelink = False
html_theme_options = {
    "navigation_with_keys": False,
    "show_prev_next": True,
    "show_nav_level": 2,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
}
html_sidebars = {
    "changelog": [],
    "contributing": [],
    "benchmarks": [],
    "papers": [],
}


def keep_own_members(_app: Any, _what: str, _name: str, member: Any, skip: bool, _options: Any) -> bool | None:
    """Leave out what scikit-learn defines: its docstrings point at pages of its own documentation."""
    if skip:
        return None
    owner = member.fget if isinstance(member, property) else inspect.unwrap(member) if callable(member) else None
    module = getattr(owner, "__module__", None)
    return None if module is None or module.startswith("skgraft") else True


def name_inherited(_app: Any, what: str, _name: str, obj: Any, _options: Any, lines: list[str]) -> None:
    """End the text of an estimator with the names of the methods it has from scikit-learn."""
    if what != "class" or not hasattr(obj, "get_params"):
        return
    inherited = [
        name
        for name, member in inspect.getmembers(obj, callable)
        if not name.startswith("_") and not getattr(member, "__module__", "skgraft").startswith("skgraft")
    ]
    lines += ["", ".. rubric:: From scikit-learn", "", ", ".join(f"``{name}``" for name in inherited) + ".", ""]


def collect_results(_app: Any) -> None:
    """Copy the tables and figures that benchmarks and papers have stored, or say how to make them."""
    for folder, target in (("benchmarks", "make bench"), ("papers", "make papers")):
        source, copies = REPOSITORY / folder / "results", HERE / "results" / folder
        shutil.rmtree(copies, ignore_errors=True)
        copies.mkdir(parents=True)
        for file in sorted(source.rglob("*")) if source.is_dir() else []:
            if file.suffix in {".md", ".png"}:
                copy = copies / file.relative_to(source)
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(file, copy)
        if not any(copies.glob("*.md")):
            (copies / "none.md").write_text(f"# No results yet\n\n`{target}` stores them here.\n", encoding="utf-8")


def setup(app: Any) -> None:
    """Connect the functions above."""
    app.connect("builder-inited", collect_results, priority=100)
    app.connect("autodoc-skip-member", keep_own_members)
    app.connect("autodoc-process-docstring", name_inherited, priority=900)
