"""The samples that a job takes by their ids."""

import fnmatch
from collections.abc import Sequence


class IdGlobs:
    """Ids and globs of ids; a job may list thousands of ids, each of which is looked up at once.

    Args:
        globs: As a job has them; none matches every sample.
    """

    def __init__(self, globs: Sequence[str]) -> None:
        self._ids = frozenset(glob for glob in globs if not set("*?[") & set(glob))
        self._patterns = [glob for glob in globs if glob not in self._ids]
        self.unmatched = set(globs)
        """Those that match no sample that was taken."""

    def match(self, sample_id: str) -> bool:
        """Whether a sample is among those that are meant."""
        if not self._ids and not self._patterns:
            return True
        return sample_id in self._ids or any(fnmatch.fnmatchcase(sample_id, glob) for glob in self._patterns)

    def take(self, sample_id: str) -> None:
        """Note that a sample is taken."""
        self.unmatched.discard(sample_id)
        if self._patterns:
            self.unmatched -= {glob for glob in self._patterns if fnmatch.fnmatchcase(sample_id, glob)}
