from workbench.errors import nearest_id


def test_an_id_of_another_hour_was_not_meant() -> None:
    """They share date and length, and were named for each other where their last characters happened to agree."""
    assert nearest_id("20200101T000000-abcdef", ["20261129T070703-0bcdec"]) == ""
    assert nearest_id("20261129T07O703-0bcdec", ["20261128T020000-77a1f0", "20261129T070703-0bcdec"]) == (
        "did you mean '20261129T070703-0bcdec'?"
    )
    assert nearest_id("3fa91c", ["3fa19c"]) == "did you mean '3fa19c'?"
