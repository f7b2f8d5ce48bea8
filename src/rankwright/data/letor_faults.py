"""What LETOR text is refused for, in words."""

from __future__ import annotations

import warnings
from typing import TypeAlias

import numpy as np

from rankwright.data.letor_text import LetorFormat, Survey
from rankwright.data.lines import line_end_error
from rankwright.data.texts import LONGEST_ID
from rankwright.exceptions import DataError, DataWarning

Fault: TypeAlias = tuple[str, int, int, bytes]  # kind, line, feature index, offending text


def warn_without_qid(path: str, stacklevel: int = 2) -> None:
    """Warn the caller of the caller."""
    warnings.warn(
        f"{path}: no line has a qid, so all documents are taken as one query.",
        DataWarning,
        stacklevel=stacklevel + 1,
    )


def qid_missing(how: LetorFormat, line: int) -> DataError:
    """Return the error for a line without a qid where others have one."""
    return DataError(
        "every line must have qid:ID behind the label, or none; other lines have it, this one "
        "has not.",
        path=how.path,
        line=line,
        field="qid",
    )


def fault_error(fault: Fault, how: LetorFormat, survey: Survey, lines_before: int) -> DataError:
    """Return the error for a fault that the parser found."""
    kind, line, index, raw = fault
    if kind == "line_end":
        return line_end_error(how.path, lines_before + line)
    text = repr(raw.decode("utf-8", "replace"))
    feature = "feature" if index < 0 else f"feature {index}"
    last = min(survey.n_features(how) - 1 + survey.first_index(how), 2**31 - 2)
    remedy = "Fix the line, or pass a larger n_features."
    if index > 2**31 - 2:
        last, remedy = 2**31 - 2, "Fix the line."
    scale = "Scale it" if np.dtype(how.dtype) == np.float64 else "Scale it, or pass dtype='float64'"
    if kind == "entry" and raw.startswith(b"qid:"):
        kind = "qid"
    long = f"must have at most {LONGEST_ID} characters, but has more, and begins {text}."
    messages = {
        "label": ("label", f"must be a number, but is {text}."),
        "label_finite": ("label", f"must be finite, but is {text}."),
        "qid": ("qid", f"must be qid:ID, once, behind the label, but is {text}."),
        "qid_long": ("qid", long),
        "qid_nul": ("qid", f"must not end with a NUL character, but is {text}."),
        "doc_id_long": ("doc_id", f"{long} Shorten the comment, or read without document ids."),
        "doc_id_nul": ("doc_id", f"must not end with a NUL character, but begins {text}."),
        "entry": ("feature", f"must be index:value, but is {text}."),
        "index_large": (
            "feature",
            f"indices must be at most {last}, but the line has {text}. {remedy}",
        ),
        "index_zero": (
            "feature",
            f"indices must start at 1, but the line has {text}. Pass zero_based=True if the file "
            "counts from 0.",
        ),
        "value": (feature, f"must have a number as its value, but is {text}."),
        "value_finite": (
            feature,
            f"must be finite, but is {text}. Fix the line, or allow missing values "
            "(allow_nan=True; --missing median).",
        ),
        "value_overflow": (
            feature,
            f"must fit {np.dtype(how.dtype)}, but is {text}. {scale}.",
        ),
        "duplicate": (feature, "must occur once in a line, but occurs twice."),
    }
    where, message = messages[kind]
    return DataError(message, path=how.path, line=lines_before + line, field=where)
