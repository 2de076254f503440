"""Languages by code and by name."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simulmt.errors import UsageError
from simulmt.text.languages import known, parse, same


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("de", "de"), ("DEU", "de"), ("ger", "de"), ("German", "de"), ("deutsch", "de"), (" Deutsch ", "de"),
        ("fre", "fr"), ("français", "fr"), ("FRANÇAIS", "fr"), ("franc\u0327ais", "fr"), ("dut", "nl"),
        ("Flemish", "nl"), ("chi", "zh"), ("cmn", "zh"), ("Mandarin", "zh"), ("中文", "zh"), ("yue", "yue"),
        ("zh-yue", "yue"), ("日本語", "ja"), ("jpn", "ja"), ("Farsi", "fa"), ("pes_Arab", "fa"), ("nb", "no"),
        ("nob", "no"), ("iw", "he"),
        ("haitian_creole", "ht"), ("Scottish-Gaelic", "gd"), ("ast", "ast"), ("zsm_Latn", "ms"), ("swh_Latn", "sw"),
        ("ελληνικά", "el"), ("Türkçe", "tr"), ("русский", "ru"), ("हिन्दी", "hi"), ("Māori", "mi"),
    ],
)  # fmt: skip
def test_codes_and_names(text: str, code: str) -> None:
    assert parse(text).code == code


@pytest.mark.parametrize(
    ("text", "tag"),
    [
        ("de-AT", "de-AT"),
        ("de_at", "de-AT"),
        ("zh-CN", "zh-CN"),
        ("zh_Hans", "zh-Hans"),
        ("zho_Hans", "zh-Hans"),
        ("zh-Hant-TW", "zh-Hant-TW"),
        ("pt-BR", "pt-BR"),
        ("es-419", "es-419"),
        ("deu_Latn", "de-Latn"),
        ("de-CH-1996", "de-CH"),
        ("ca-valencia", "ca"),
        ("en", "en"),
    ],
)
def test_script_and_region(text: str, tag: str) -> None:
    assert parse(text).tag == tag


def test_units() -> None:
    by_char = {language.code for language in known() if language.unit == "char"}
    assert by_char == {"zh", "yue", "ja", "th", "lo", "km", "my", "bo"}
    assert parse("zh-CN").unit == "char"
    assert parse("ko").unit == "word"


def test_the_whole_table_reads_back() -> None:
    languages = known()
    assert len(languages) >= 100
    assert (
        len({language.code for language in languages})
        == len({language.name for language in languages})
        == len(languages)
    )
    for language in languages:
        assert parse(language.code) == parse(language.name) == parse(language.name.upper()) == language
        assert language.tag == language.code


@pytest.mark.parametrize(
    ("text", "suggestion"),
    [("Germn", "German (de)"), ("inglish", "English (en)"), ("Chinees", "Chinese (zh)"), ("deux", "German (de)")],
)
def test_unknown_with_a_suggestion(text: str, suggestion: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse(text)
    message = str(caught.value)
    assert repr(text) in message
    assert suggestion in message
    assert "simulmt models list" in message
    assert "\n" not in message


@pytest.mark.parametrize(
    "text", ["", "   ", "xx", "Klingon", "de-", "de--AT", "de-A", "de-Latn-Latn", "de-AT-CH", "a\nb", "e" * 500]
)
def test_unknown(text: str) -> None:
    if text == "de--AT":  # doubled separators are a slip of the finger
        assert parse(text).tag == "de-AT"
        return
    with pytest.raises(UsageError, match=r"unknown language") as caught:
        parse(text)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 250


@settings(max_examples=50, deadline=None)
@given(st.text())
def test_any_text_gives_a_language_or_one_line(text: str) -> None:
    try:
        said = parse(text).tag
    except UsageError as error:
        said = str(error)
    assert len(said.splitlines()) == 1


def test_same() -> None:
    assert same(parse("de-AT"), parse("deu_Latn"))
    assert not same(parse("pt"), parse("es"))
