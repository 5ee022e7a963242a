"""Alignments by plain dynamic programming, and the replay of SAM records."""

from __future__ import annotations

import re

NEGATIVE = -(10**9)


def affine_with_clips(
    query: str, text: str, scores: tuple[int, int, int, int, int], diagonals: range, offset: int
) -> int:
    """Best score, clip penalties included, of the query against any part of the text.

    Query symbol i may only meet text symbols offset + i + d with d in ``diagonals``. scores = (match, mismatch, open,
    extend, clip): a gap of length l costs open + l * extend, each clipped end costs clip.
    """
    match, mismatch, gap_open, extend, clip = scores
    best = NEGATIVE
    # value of the best alignment that ends with query symbol i on diagonal d, by its last column
    rows = {d: {"M": 0, "I": NEGATIVE, "D": NEGATIVE} for d in diagonals}
    for i, base in enumerate(query):
        above, rows = rows, {}
        for d in diagonals:
            j = offset + i + d
            inside = 0 <= j < len(text)
            pair = (match if base == text[j] and base in "ACGT" else -mismatch) if inside else NEGATIVE
            start = 0 if i == 0 else -clip
            diagonal = max(max(above[d].values()), start) + pair
            insertion = deletion = NEGATIVE
            if d + 1 in diagonals:
                up = above[d + 1]
                insertion = max(max(up.values()) - gap_open, up["I"]) - extend
            if d - 1 in rows:
                left = rows[d - 1]
                deletion = max(max(left.values()) - gap_open, left["D"]) - extend
            rows[d] = {"M": diagonal, "I": insertion, "D": deletion}
            best = max(best, max(diagonal, insertion, deletion) - (clip if i < len(query) - 1 else 0))
    return best


def parse_cigar(text: str) -> list[tuple[int, str]]:
    operations = [(int(n), op) for n, op in re.findall(r"(\d+)([MIDNSHP=X])", text)]
    assert "".join(f"{n}{op}" for n, op in operations) == text, text
    return operations


def replay(sequence: str, reference: str, position: int, cigar: str) -> tuple[int, str, list[str]]:
    """(NM, MD, column types) of an alignment at 0-based ``position``; column types are "=", "X", "I", "D", "S"."""
    edits, matches, md, columns = 0, 0, "", []
    q, r = 0, position
    for n, op in parse_cigar(cigar):
        if op in "M=X":
            for _ in range(n):
                same = sequence[q] == reference[r] and sequence[q] in "ACGT"
                assert op == "M" or (op == "=") == same
                columns.append("=" if same else "X")
                if same:
                    matches += 1
                else:
                    md += f"{matches}{reference[r]}"
                    matches = 0
                    edits += 1
                q, r = q + 1, r + 1
        elif op == "D":
            md += f"{matches}^{reference[r : r + n]}"
            matches = 0
            edits, r = edits + n, r + n
            columns += ["D"] * n
        else:
            columns += [op] * n
            q += n
            edits += n if op == "I" else 0
    assert q == len(sequence), (cigar, len(sequence))
    return edits, f"{md}{matches}", columns


def affine_score(columns: list[str], scores: tuple[int, int, int, int, int]) -> int:
    """Score of replayed columns, without clip penalties."""
    match, mismatch, gap_open, extend, _ = scores
    total, last = 0, ""
    for column in columns:
        if column == "=":
            total += match
        elif column == "X":
            total -= mismatch
        elif column in "ID":
            total -= extend + (gap_open if column != last else 0)
        last = column
    return total
