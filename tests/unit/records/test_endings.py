from workbench.records.endings import EXIT_CODES, RunStatus


def test_every_status_has_an_exit_code() -> None:
    assert set(EXIT_CODES) == set(RunStatus)
    assert len(set(EXIT_CODES.values())) == len(RunStatus)
