"""Points, the drawn curve and the chart in characters."""

import json
from pathlib import Path

import pytest

from simulmt.errors import UsageError
from simulmt.evaluation.chart import chart
from simulmt.evaluation.curve import Point, Series, distinct, draw, read_series
from simulmt.instance import Instance

CURVE = Series(
    "base",
    (
        Point("k1", {"AL": 0.0, "LAAL": 1.0}, 10.0),
        Point("k3", {"AL": 5.0, "LAAL": 5.5}, 18.0),
        Point("k9", {"AL": 10.0, "LAAL": 10.0}, 20.0),
        Point("full", {"AL": 22.0, "LAAL": 22.0}, 15.0),
    ),
)


def scored(folder: Path, **scores: float | None) -> None:
    folder.mkdir(parents=True)
    (folder / "scores.json").write_text(json.dumps(scores))


def test_a_folder_of_settings_is_a_curve_by_rising_latency(tmp_path: Path) -> None:
    scored(tmp_path / "run" / "k10", BLEU=20.0, AL=9.0, LAAL=9.5)
    scored(tmp_path / "run" / "full", BLEU=22.0, AL=3.0, LAAL=3.0)
    scored(tmp_path / "run" / "k2", BLEU=12.0, AL=2.0, LAAL=None)
    scored(tmp_path / "run" / "k4", BLEU=None, AL=4.0, LAAL=4.0)
    series = read_series(tmp_path / "run")
    assert series.name == "run"
    assert [point.label for point in series.points] == ["k2", "k10", "full"]
    assert series.points[0].latency == {"AL": 2.0}


def test_a_log_without_scores_is_scored(tmp_path: Path) -> None:
    folder = tmp_path / "other-tool"
    folder.mkdir()
    text = "der Hund und die Katze"
    instance = Instance(0, text, [2, 3, 4, 5, 5], [0.0] * 5, 5, "the dog and the cat", text)
    (folder / "instances.log").write_text(instance.to_json() + "\n")
    (point,) = read_series(folder).points
    assert (point.label, point.latency["AL"], point.quality) == ("other-tool", 2.0, pytest.approx(100.0))


def test_nothing_to_draw_is_said(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no settings"):
        read_series(tmp_path)
    with pytest.raises(UsageError, match="not a folder"):
        read_series(tmp_path / "none")


def test_names_that_are_alike_become_paths() -> None:
    folders = [Path("a/run"), Path("b/run"), Path("c/else")]
    curves = distinct([Series(folder.name, ()) for folder in folders], folders)
    assert [curve.name for curve in curves] == ["a/run", "b/run", "else"]


def test_the_chart_puts_each_point_in_its_place() -> None:
    lines = chart([CURVE], width=21, height=11).splitlines()
    area = [line[8:] for line in lines[1:12]]
    assert [(row, line.index("o")) for row, line in enumerate(area) if "o" in line] == [(0, 20), (2, 10), (10, 0)]
    assert area[5].startswith("- - - ")  # the offline level, half way between 10 and 20
    assert lines[-1].split() == ["o", "base:", "k1", "k3", "k9", "-", "full", "15.0"]
    assert "AL (source words)" in lines[-2]


def test_two_systems_have_two_marks() -> None:
    text = chart([CURVE, Series("other", (Point("k1", {"AL": 3.0}, 12.0),))])
    assert "x other: k1" in text
    assert text.count("x") == 2


def test_a_chart_of_one_point_or_none_is_no_division_by_zero() -> None:
    assert "o one: k1" in chart([Series("one", (Point("k1", {"AL": 3.0}, 12.0),))])
    assert "only" in chart([Series("only", (Point("full", {"AL": 3.0}, 12.0),))])


def test_the_drawing_holds_every_label_and_is_the_same_each_time(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    svg, png = draw([CURVE], tmp_path / "curve")
    text = svg.read_text(encoding="utf-8")
    assert all(f">{label}<" in text for label in ("k1", "k3", "k9", "base", "base (full)", "AL (source words)"))
    assert png.read_bytes().startswith(b"\x89PNG")
    again, _ = draw([CURVE], tmp_path / "again")
    assert again.read_text(encoding="utf-8") == text
