# SPDX-License-Identifier: Apache-2.0
"""Notebooks show numbers as the program prints them, to the last digit."""

from __future__ import annotations

import contextlib
import html as std_html
import locale
import re

import pytest
from analysis_kit import Runs
from pykit import ROOT


def test_numbers_read_as_the_table_says(runs: Runs):
    from footplate.analysis import human

    kinds = {"(money)": human.money, "(duration)": human.duration}
    lines = (ROOT / "tests" / "data" / "human.tsv").read_text().splitlines()
    table = [line.split("\t") for line in lines if line and not line.startswith("#")]
    known = [row for row in table if not row[1].startswith("(") or row[1] in kinds]
    assert len(known) > 100
    for number, unit, want in known:
        v = float(number)
        assert (kinds[unit](v) if unit in kinds else human.value(v, unit)) == want


def test_what_was_not_measured_is_a_dash(runs: Runs):
    from footplate.analysis import human

    assert [human.value(None, "s"), human.value(float("nan"), "%"), human.money(None)] == ["-"] * 3
    assert [human.price(None, "EUR"), human.share(None)] == ["-"] * 2


def test_counts_are_exact_and_prices_have_a_currency(runs: Runs):
    from footplate.analysis import human

    assert human.count(2**63 - 1) == "9 223 372 036 854 775 807"
    assert [human.count(v) for v in (0, -9999, -12345)] == ["0", "-9999", "-12 345"]
    assert [human.price(6.158), human.price(6, "EUR")] == ["6.16 USD", "6.00 EUR"]


def test_numbers_do_not_depend_on_the_locale(runs: Runs):
    import footplate
    from footplate.analysis import human, svg

    before = locale.setlocale(locale.LC_NUMERIC)
    try:
        for name in ("de_DE.UTF-8", "fr_FR.UTF-8"):
            with contextlib.suppress(locale.Error):
                locale.setlocale(locale.LC_NUMERIC, name)
        assert [human.value(1.5, "%"), human.money(2.5), human.duration(1.5)] == [
            "1.5 %", "2.50", "1.5 s",
        ]  # fmt: skip
        run = footplate.open(str(ROOT / "tests" / "data" / "runs" / "h200-1-worker"))
        assert run.info["duration_s"] == pytest.approx(32.2, abs=0.1)
        assert not re.search(
            r'x="\d+,', svg.chart("x", [("bars", "", "s", ([("a", 1.5, 0)],))]).svg
        )
    finally:
        locale.setlocale(locale.LC_NUMERIC, before)


def _plain(markup: str) -> str:
    return std_html.unescape(re.sub(r"<[^>]*>", "|", markup))


def test_a_notebook_shows_the_figures_of_the_terminal(runs: Runs, run_fp):
    import footplate

    folder = ROOT / "tests" / "data" / "runs" / "h200-1-worker"
    run = footplate.open(str(folder))
    told = run_fp("show", folder).stdout
    page = _plain(run._repr_html_())
    for label, value in re.findall(r"^(duration|cost) +([^,\n]*)", told, re.MULTILINE):
        assert f"|{value}" in page, label
    for phase, took, share in re.findall(r"^(\w+) +(\S+ \w+) +(\S+ %)$", told, re.MULTILINE):
        assert f"{phase} {took} ({share})" in page
    found = _plain(run.findings()._repr_html_())
    said = run_fp("check", folder).stdout
    sizes = re.findall(
        r"\): (?:critical|info), (\S+ s lost)(?: \(estimate\))?, (\S+ %) [^:\n]*"
        r"(at a cost of [\d.]+ USD)",
        said,
    )
    assert len(sizes) == 3
    for lost, share, cost in sizes:
        assert f"{lost}, {share} of the time, {cost}" in found
