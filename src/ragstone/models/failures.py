"""The failures of a chat model's call: the message for each, and whether to try again."""

import math
from dataclasses import dataclass

from pydantic_ai.exceptions import (
    ContentFilterError,
    ModelAPIError,
    ModelConnectionError,
    ModelContextWindowExceededError,
    ModelHTTPError,
    ModelTimeoutError,
    UnexpectedModelBehavior,
)

from ragstone.core.answer import Usage
from ragstone.core.clock import Limit
from ragstone.core.errors import ModelUnavailable

ADVICE = {
    400: "Check {0}__CONTEXT_WINDOW: the prompt may be longer than the model takes.",
    401: "Check {0}__API_KEY.",
    403: "Check {0}__API_KEY.",
    404: "Check {0}__MODEL and {0}__BASE_URL.",
    413: "Check {0}__CONTEXT_WINDOW: the prompt may be longer than the model takes.",
    429: "It is asked too often; try again later.",
}
PASSING = {408, 409, 425, 429}
"""Statuses below 500 after which the same call may work."""

OF_THE_CALL = {400, 413, 422}
"""Statuses that say nothing about the next call."""

FILTERED = "refused by its content filter"

SILENT_SECONDS = 20.0
SILENT_SHARE = 1 / 3
"""A model that said nothing for so long, or for such a share of a shorter limit, has failed. One
that was only given less time, or that speaks slowly, has not."""

NONE = Usage()
ONCE = 1
ALWAYS = 100


@dataclass
class Trouble(Exception):
    """`error` is for the caller; `retries` how often a retry is worth while; `counts` whether it
    is a failure of the model's server; `usage` what the call took all the same; `loading` that the
    server is well, but has to load the model first."""

    error: ModelUnavailable
    retries: int = 0
    counts: bool = True
    usage: Usage = Usage()
    loading: bool = False


@dataclass(frozen=True)
class FailingModel:
    """Who is asked, for messages: the model, its address, and the section of its settings.
    `standby` says that another model answers when this one does not."""

    model: str
    address: str
    section: str
    standby: bool = False

    def silence_trouble(self, seconds: float) -> Trouble:
        """Nothing came for so long. Another model is asked then; where there is none, the same."""
        return Trouble(
            ModelUnavailable(
                f"The model {self.model!r} said nothing for {seconds:g} s "
                f"({self.section}__TIMEOUT)."
            ),
            # With a standby it is faster to ask that one than to wait a second time.
            0 if self.standby else ALWAYS,
        )

    def slow_reply_trouble(self, limit: Limit, silent: float, begun: bool) -> Trouble:
        """A limit for the whole reply is over; `silent` is how long it said nothing at most."""
        what = "did not finish its reply" if begun else "said nothing"
        advice = "" if self.standby else ", or set LLM__FALLBACK=extractive"
        return Trouble(
            ModelUnavailable(
                f"The model {self.model!r} {what} within the {limit.seconds:g} s of "
                f"{limit.setting}. Raise that{advice}."
            ),
            # Too little time given, or slow speech, is no failure of the server.
            counts=silent >= min(SILENT_SECONDS, limit.seconds * SILENT_SHARE),
        )

    def rest_trouble(self, seconds: float) -> Trouble:
        message = (
            f"The model {self.model!r} failed several times in a row and rests for "
            f"{math.ceil(seconds)} s."
        )
        return Trouble(ModelUnavailable(message, retry_after=seconds), counts=False)

    def malformed_reply_trouble(self, what: str, retries: int = ONCE) -> Trouble:
        """Make the trouble of something that is not a reply."""
        return Trouble(ModelUnavailable(self._message(what)), retries)

    def useless_reply_trouble(self, what: str, usage: Usage = NONE, retries: int = ONCE) -> Trouble:
        """Make the trouble of a whole reply that nobody can use: the server is well, and the call
        may have asked for just that by its `stop` or `max_tokens`."""
        return Trouble(ModelUnavailable(self._message(what)), retries, counts=False, usage=usage)

    def classify_error(self, error: Exception, waited: float) -> Trouble:
        """Return what pydantic-ai or the client raised; `waited` is the time-out."""
        if isinstance(error, Trouble):
            return error
        if isinstance(error, TimeoutError | ModelTimeoutError):
            return self.silence_trouble(waited)
        if isinstance(error, ContentFilterError):
            return self.useless_reply_trouble(FILTERED, retries=0)
        if isinstance(error, ModelContextWindowExceededError):
            return self.status_trouble(413)
        if isinstance(error, ModelHTTPError):
            return self.status_trouble(error.status_code, error.retry_after, error.body)
        if (
            isinstance(error, ModelConnectionError | OSError)
            or "Connection" in type(error).__name__
        ):
            return Trouble(
                ModelUnavailable(
                    f"The model server at {self.address} cannot be reached or broke off. "
                    f"Check {self.section}__BASE_URL and that the server runs."
                ),
                ALWAYS,
            )
        # A proxy that cuts a stream ends it without a reason (see `endpoint.PROFILE`).
        if isinstance(error, ModelAPIError) and "finish_reason" in str(error):
            return self.malformed_reply_trouble("ended its reply in the middle")
        if isinstance(error, UnexpectedModelBehavior | ModelAPIError):
            return self.malformed_reply_trouble("sent something that is not a reply")
        return self.malformed_reply_trouble(
            f"sent something that is not a reply ({type(error).__name__})"
        )

    def status_trouble(
        self, status: int, retry_after: float | None = None, body: object = None
    ) -> Trouble:
        """Make the trouble of an answer with an error."""
        # llama.cpp answers so until its model is in memory.
        if status == 503 and "loading" in str(body).lower():
            message = (
                f"The model server at {self.address} is still loading its model. Try again, or "
                f"raise {self.section}__TIMEOUT, which is how long that is waited for."
            )
            error = ModelUnavailable(message, retry_after=retry_after)
            return Trouble(error, 0 if self.standby else ALWAYS, counts=False, loading=True)
        advice = ADVICE.get(status, "Look into the server's log.").format(self.section)
        message = f"The model server at {self.address} answered {status}. {advice}"
        passing = status >= 500 or status in PASSING
        return Trouble(
            ModelUnavailable(message, retry_after=retry_after),
            ALWAYS if passing else 0,
            counts=status not in OF_THE_CALL,
        )

    def _message(self, what: str) -> str:
        return f"The model {self.model!r} at {self.address} {what}."
