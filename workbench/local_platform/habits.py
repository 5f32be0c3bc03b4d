"""What an attempt may have used whose usage was not reported: judged by what its route's other answers used."""

import math
from collections import deque

from workbench.local_platform.backend import Usage
from workbench.local_platform.calls import BYTES_A_TOKEN, Call

_NEWEST, _ENOUGH = 200, 20


class Habits:
    """What the newest answers of one route used.

    An estimate takes the most that any of them used, so that it is rarely below what was really used. With fewer than 20
    answers it takes the request's cap, or what is assumed for a request without one.

    Args:
        assumed_completion_tokens: For a request without a cap.
    """

    def __init__(self, assumed_completion_tokens: int) -> None:
        self.assumed = assumed_completion_tokens
        self._completion_tokens: deque[int] = deque(maxlen=_NEWEST)
        self._prompt_share: deque[float] = deque(maxlen=_NEWEST)  # tokens for each byte of a request
        self._char_share: deque[float] = deque(maxlen=_NEWEST)  # tokens for each character of an answer

    def learn(self, call: Call, usage: Usage, chars: int) -> None:
        """Take in an answer whose usage is known.

        Args:
            chars: The length of the answer.
        """
        self._completion_tokens.append(usage.completion)
        self._prompt_share.append(usage.prompt / len(call.raw))
        if chars:
            self._char_share.append(usage.completion / chars)

    def estimated_tokens(self, call: Call, chars: int = 0) -> int:
        """Return what a call may have used.

        Args:
            chars: How much of an answer came; 0 where none did, and it may have been generated all the same.
        """
        prompt = max(call.prompt_tokens, math.ceil(max(self._prompt_share, default=0.0) * len(call.raw)))
        return prompt + (self._generated(chars) if chars else self._completion(call.cap))

    def _completion(self, cap: int | None) -> int:
        bounds = [] if cap is None else [cap]
        if len(self._completion_tokens) >= _ENOUGH:
            bounds.append(max(self._completion_tokens))
        return min(bounds, default=self.assumed)

    def _generated(self, chars: int) -> int:
        least = chars // BYTES_A_TOKEN + 1
        likely = math.ceil(max(self._char_share, default=0.0) * chars)
        return max(least, min(likely, max(self._completion_tokens, default=0)))
