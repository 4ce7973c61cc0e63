"""The page that lists every misuse."""

from __future__ import annotations

from geode.domain.misuse_ids import MISUSE_IDS, errors_page


def test_the_page_has_a_row_for_each_id_in_alphabetical_order_and_ends_with_a_line_end() -> None:
    head, rows = errors_page().split("|---|---|\n")
    assert head.startswith("# Misuse, by id\n")
    assert rows == "".join(f"| `{id}` | {MISUSE_IDS[id]} |\n" for id in sorted(MISUSE_IDS))
