from workbench.endings import EXIT_CODES, RunStatus, continuation


def test_every_status_has_an_exit_code() -> None:
    assert set(EXIT_CODES) == set(RunStatus)
    assert len(set(EXIT_CODES.values())) == len(RunStatus)


def test_an_occasion_needs_no_run_to_resume() -> None:
    assert (
        continuation("a.toml", [], occasion="2026-11-22", resume="r1") == "workbench run a.toml --occasion 2026-11-22"
    )
