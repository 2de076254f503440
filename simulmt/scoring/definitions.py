"""What each reported number means: `--explain`, the "definitions" of a report, and the names that exist."""

from __future__ import annotations

from dataclasses import dataclass

from simulmt.errors import UsageError

CLOCK_SUFFIX = "_ms"
COMPUTATION_SUFFIX = "_CA"


@dataclass(frozen=True, slots=True)
class Definition:
    """One metric.

    Attributes:
        name: as in reports.
        title: the name in full.
        formula: one line.
        unit: what it is measured in.
        better: `higher`, `lower` or `near 1` and the like.
        source: the paper or tool it comes from.
        edges: what happens at the edges, one sentence each.
    """

    name: str
    title: str
    formula: str
    unit: str
    better: str
    source: str
    edges: tuple[str, ...] = ()

    @property
    def symbols(self) -> bool:
        """Whether the formula uses what SYMBOLS explains."""
        return any(symbol in self.formula for symbol in ("d_i", "d_1", "/ S", "Σ S", "Σ T", "(i−1)"))

    @property
    def one_line(self) -> str:
        """Formula and unit."""
        return f"{self.formula} [{self.unit}]"

    def explain(self) -> str:
        """Return the text of `--explain`, several lines."""
        lines = [
            f"{self.name}: {self.title}",
            f"  formula  {self.formula}",
            *([f"  where    {SYMBOLS}"] if self.symbols else []),
            f"  unit     {self.unit}",
            f"  better   {self.better}",
            f"  source   {self.source}",
        ]
        return "\n".join([*lines, *(f"  edge     {edge}" for edge in self.edges)])


SYMBOLS = (
    "d_i: source units read when target unit i was written; S, T, H: source, reference and hypothesis length; "
    "units: words, or characters where --unit or the language says so (ms of audio on the source side of speech logs)"
)
_UNITS = "source units"
_CORPUS = "Corpus: mean over the segments that have a value; how many have none is shown."
_EMPTY_HYPOTHESIS = "Empty hypothesis, or empty source (S = 0): no value; the segment is counted and shown."
_EMPTY_REFERENCE = "Empty reference (T = 0): no value; SimulEval counts an empty reference as one word."
_NO_REFERENCE = "No reference at all: H, the hypothesis length, stands in for T."
_CUT = "d_1 ≥ S (k ≥ S, or a delay above S): the value is d_1."
_OVER_LONG = "Hypothesis longer than the reference: only the units up to the first with d_i ≥ S count."

_LATENCY = (
    Definition(
        "AL",
        "average lagging",
        "(1/τ) Σ_{i≤τ} [d_i − (i−1)·S/T], τ = first i with d_i ≥ S, else H",
        _UNITS,
        "lower",
        "Ma et al. 2019, https://aclanthology.org/P19-1289, as in SimulEval",
        (_CUT, _OVER_LONG, _EMPTY_REFERENCE, _NO_REFERENCE, _EMPTY_HYPOTHESIS, _CORPUS),
    ),
    Definition(
        "LAAL",
        "length-adaptive average lagging",
        "(1/τ) Σ_{i≤τ} [d_i − (i−1)·S/max(H,T)], τ = first i with d_i ≥ S, else H",
        _UNITS,
        "lower",
        "Papi et al. 2022, https://aclanthology.org/2022.autosimtrans-1.2, as in SimulEval",
        (_CUT, _OVER_LONG, "Empty reference: max(H, T) is H.", _EMPTY_HYPOTHESIS, _CORPUS),
    ),
    Definition(
        "AP",
        "average proportion",
        "Σ_{i≤H} d_i / (S·T)",
        "proportion of the source",
        "lower",
        "Cho and Esipova 2016, https://arxiv.org/abs/1606.02012, as in SimulEval",
        ("Above 1 when H > T or delays exceed S.", _EMPTY_REFERENCE, _NO_REFERENCE, _EMPTY_HYPOTHESIS, _CORPUS),
    ),
    Definition(
        "DAL",
        "differentiable average lagging",
        "(1/H) Σ_{i≤H} [d'_i − (i−1)·S/H], d'_1 = d_1, d'_i = max(d_i, d'_{i−1} + S/H)",
        _UNITS,
        "lower",
        "Cherry and Foster 2019, https://arxiv.org/abs/1906.00048, as in SimulEval",
        ("The hypothesis length is used, whatever the reference.", _EMPTY_HYPOTHESIS, _CORPUS),
    ),
    Definition(
        "YAAL",
        "yet another average lagging",
        "(1/n) Σ_{i≤n} [d_i − (i−1)·S/max(H,T)], n = units before the first with d_i ≥ S",
        _UNITS,
        "lower",
        "Polák et al. 2025, https://arxiv.org/abs/2509.17349, as in OmniSTEval",
        (
            "d_1 ≥ S (full sentences, k ≥ S): no value, since nothing was written before the source ended.",
            "Empty reference: max(H, T) is H.",
            _EMPTY_HYPOTHESIS,
            _CORPUS,
        ),
    ),
    Definition(
        "ATD",
        "average token delay",
        "(1/H) Σ_i [end(y_i) − end(x_{a(i)})], a(i) = i − max(0, target − source units of earlier chunks), ≤ d_i; "
        "each unit lasts 1 and target units come one after another",
        _UNITS,
        "lower",
        "Kano et al. 2023, https://arxiv.org/abs/2211.13173, as SimulEval has it while running",
        (
            "Speech logs: source tokens of 300 ms, target units of 0 ms.",
            "References play no part.",
            "SimulEval scores text logs as if they were speech; this does not.",
            _EMPTY_HYPOTHESIS,
            _CORPUS,
        ),
    ),
)

_QUALITY = (
    Definition(
        "BLEU",
        "bilingual evaluation understudy, corpus level",
        "100 · brevity penalty · geometric mean of 1- to 4-gram precisions, as the signature says",
        "0-100",
        "higher",
        "Papineni et al. 2002, https://aclanthology.org/P02-1040, by sacrebleu",
        ("Empty hypotheses count as segments without n-grams.", "Trailing white space of lines is ignored."),
    ),
    Definition(
        "chrF2",
        "character n-gram F-score, β = 2",
        "F_β over character 1- to 6-grams, as the signature says",
        "0-100",
        "higher",
        "Popović 2015, https://aclanthology.org/W15-3049, by sacrebleu",
        ("Empty hypotheses count as segments without n-grams.",),
    ),
    Definition(
        "TER",
        "translation edit rate",
        "100 · edits (insert, delete, substitute, shift) / reference words, as the signature says",
        "per cent, may exceed 100",
        "lower",
        "Snover et al. 2006, https://aclanthology.org/2006.amta-papers.25, by sacrebleu",
        ("Slow; computed on request only (--metric TER).",),
    ),
    Definition(
        "COMET",
        "neural metric",
        "mean segment score of the given model for source, hypothesis and reference",
        "depends on the model, mostly 0-1",
        "higher",
        "Rei et al. 2020, https://aclanthology.org/2020.emnlp-main.213, by unbabel-comet",
        ("Needs the package unbabel-comet, a model file (--comet) and the source.",),
    ),
)

_OTHER = (
    Definition(
        "SWF",
        "simultaneous words fraction",
        "100 · units with d_i < S / all units",
        "per cent",
        "neither",
        "OmniSTEval, https://github.com/pe-trik/OmniSTEval",
        ("Nothing written at all: no value.",),
    ),
    Definition(
        "EFSW",
        "expected fraction of simultaneous words",
        "100 · Σ max(0, S − YAAL) / Σ S",
        "per cent",
        "neither",
        "OmniSTEval, https://github.com/pe-trik/OmniSTEval",
        ("Segments without a YAAL are left out; no value when none has one.",),
    ),
    Definition(
        "DSPTV",
        "degenerate simultaneous policy test value",
        "EFSW − SWF",
        "points",
        "near 0; above 20 or below −20 the latency describes few of the words, and `degenerate` is true",
        "OmniSTEval, https://github.com/pe-trik/OmniSTEval",
        ("No value where EFSW has none.",),
    ),
    Definition(
        "length_ratio",
        "length of the hypotheses over that of the references",
        "Σ H / Σ T, in target units",
        "ratio",
        "near 1",
        "as printed by sacrebleu, here over whitespace words or characters",
        ("References without any unit: no value.",),
    ),
    Definition(
        "NE",
        "normalised erasure",
        "units taken back / units of the final output",
        "ratio",
        "lower; 0 for output that is only appended to",
        "Arivazhagan et al. 2020, https://arxiv.org/abs/1912.03393",
        (
            "An instance log can only be appended to, so it is 0 there.",
            "A log with `generated_tokens` and `deleted_tokens` (simulstream's) gives what it says.",
            "Plain text: no value.",
        ),
    ),
)

_STREAM = (
    Definition(
        "StreamLAAL",
        "LAAL over a whole talk",
        "the hypothesis is cut into the reference's sentences by least word errors; LAAL of each with its delays "
        "counted from where its source sentence starts",
        _UNITS,
        "lower",
        "Papi et al. 2024, https://arxiv.org/abs/2406.03049; cut as in Matusov et al. 2005, mwerSegmenter",
        ("A sentence that gets no words has no value; it is counted and shown.", _CORPUS),
    ),
    Definition(
        "LongYAAL",
        "YAAL over a whole talk",
        "cut as for StreamLAAL; (1/n) Σ_{i≤n} [d_i − (i−1)·S/max(H,T)], n = units before the talk's source ended",
        _UNITS,
        "lower",
        "Polák et al. 2025, https://arxiv.org/abs/2509.17349",
        ("A sentence without words before the end of the talk has no value.", _CORPUS),
    ),
)

_BY_NAME = {definition.name: definition for definition in (*_QUALITY, *_LATENCY, *_STREAM, *_OTHER)}
QUALITY_NAMES = tuple(definition.name for definition in _QUALITY)
LATENCY_NAMES = tuple(definition.name for definition in _LATENCY)
STREAM_NAMES = tuple(definition.name for definition in _STREAM)
OTHER_NAMES = tuple(definition.name for definition in _OTHER)
_ALIASES = {"chrf": "chrF2", "erasure": "NE", "degenerate": "DSPTV"}


def definition(name: str) -> Definition:
    """Return the definition of a reported name, in any case; `AL_ms` and `AL_ms_CA` have their own.

    Raises:
        UsageError: there is no such metric.
    """
    folded = {known.lower(): known for known in _BY_NAME} | _ALIASES
    for suffix, variant in ((f"{CLOCK_SUFFIX}{COMPUTATION_SUFFIX}", _computed), (CLOCK_SUFFIX, _ideal)):
        base = folded.get(name.lower().removesuffix(suffix.lower()))
        if name.lower().endswith(suffix.lower()) and base in (*LATENCY_NAMES, *STREAM_NAMES):
            return variant(_BY_NAME[base])
    base = folded.get(name.lower().removesuffix(COMPUTATION_SUFFIX.lower()))
    if name.lower().endswith(COMPUTATION_SUFFIX.lower()) and base in LATENCY_NAMES:
        return _simuleval_computed(_BY_NAME[base])
    if name.lower() not in folded:
        raise UsageError(
            f"unknown metric {name!r}", f"choose one of: {', '.join(_BY_NAME)} (latency also with _ms, _ms_CA)"
        )
    return _BY_NAME[folded[name.lower()]]


def _ideal(base: Definition) -> Definition:
    return Definition(
        base.name + CLOCK_SUFFIX,
        f"{base.title}, on the clock, computation taking no time",
        f"{base.name} with d_i = arrival of the last source unit read before target unit i",
        _clock_unit(base),
        base.better,
        base.source,
        (
            "Time 0 is the arrival of the segment's first source unit; S is the time from the first to the last "
            "arrival, so the first unit's own length is not part of it.",
            "Which units count is decided by source units read, as without a clock.",
            *base.edges,
        ),
    )


def _computed(base: Definition) -> Definition:
    ideal = _ideal(base)
    return Definition(
        ideal.name + COMPUTATION_SUFFIX,
        f"{base.title}, on the clock, computation included",
        f"{base.name} with d_i = time at which target unit i was written",
        ideal.unit,
        base.better,
        base.source,
        (f"Never below {ideal.name}: both average over the same units.", *ideal.edges),
    )


def _simuleval_computed(base: Definition) -> Definition:
    return Definition(
        base.name + COMPUTATION_SUFFIX,
        f"{base.title}, computation-aware as in SimulEval",
        f"{base.name} with `elapsed` of the log for d_i, and S as logged",
        "ms",
        base.better,
        base.source,
        (
            "Reported for logs without arrival times of source units, and only if `elapsed` is not 0 throughout.",
            "Means what it says for speech logs only: for text, S is in units while elapsed is in ms.",
            *base.edges,
        ),
    )


def _clock_unit(base: Definition) -> str:
    return "proportion of the source's duration" if base.name == "AP" else "ms"
