"""The failures of a chat model's call: the message for each, and whether to try again."""

from dataclasses import dataclass

from pydantic_ai.exceptions import (
    ModelAPIError,
    ModelConnectionError,
    ModelHTTPError,
    ModelTimeoutError,
    UnexpectedModelBehavior,
)

from ragstone.core.answer import Usage
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

NONE = Usage()
ONCE = 1
ALWAYS = 100


@dataclass
class Trouble(Exception):
    """`error` is for the caller; `retries` how often a retry is worth while; `counts` whether it
    is a failure of the model's server; `usage` what the call took all the same."""

    error: ModelUnavailable
    retries: int = 0
    counts: bool = True
    usage: Usage = Usage()


@dataclass(frozen=True)
class FailingModel:
    """Who is asked, for messages: the model, its address, and the section of its settings.
    `standby` says that another model answers when this one does not."""

    model: str
    address: str
    section: str
    standby: bool = False

    def silent(self, seconds: float) -> Trouble:
        """Nothing came for so long. Another model is asked then; where there is none, the same."""
        return Trouble(
            ModelUnavailable(
                f"The model {self.model!r} said nothing for {seconds:g} s "
                f"({self.section}__TIMEOUT)."
            ),
            0 if self.standby else ALWAYS,
        )

    def too_slow(self, seconds: float) -> Trouble:
        return Trouble(
            ModelUnavailable(
                f"The model {self.model!r} did not finish within {seconds:g} s "
                f"({self.section}__TOTAL_TIMEOUT)."
            )
        )

    def resting(self, seconds: float) -> Trouble:
        message = (
            f"The model {self.model!r} failed several times in a row and rests for "
            f"{seconds:.0f} s ({self.section}__BREAKER_RECOVERY)."
        )
        return Trouble(ModelUnavailable(message, retry_after=seconds), counts=False)

    def unexpected(self, what: str, usage: Usage = NONE, retries: int = ONCE) -> Trouble:
        """A reply came, and it is none."""
        message = f"The model {self.model!r} at {self.address} {what}."
        return Trouble(ModelUnavailable(message), retries, usage=usage)

    def of(self, error: Exception, waited: float) -> Trouble:
        """What pydantic-ai or the client raised; `waited` is the time-out."""
        if isinstance(error, Trouble):
            return error
        if isinstance(error, TimeoutError | ModelTimeoutError):
            return self.silent(waited)
        if isinstance(error, ModelHTTPError):
            return self.status(error.status_code, error.retry_after)
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
        if isinstance(error, ModelAPIError) and "finish_reason" in str(error):
            return self.unexpected("ended its reply in the middle")
        if isinstance(error, UnexpectedModelBehavior | ModelAPIError):
            return self.unexpected("sent something that is no reply")
        return self.unexpected(f"sent something that is no reply ({type(error).__name__})")

    def status(self, status: int, retry_after: float | None = None) -> Trouble:
        """The server answered with an error."""
        advice = ADVICE.get(status, "Look into the server's log.").format(self.section)
        message = f"The model server at {self.address} answered {status}. {advice}"
        passing = status >= 500 or status in PASSING
        return Trouble(
            ModelUnavailable(message, retry_after=retry_after),
            ALWAYS if passing else 0,
            counts=status not in OF_THE_CALL,
        )
