"""What is kept and told about the work: statistics, logs, telemetry."""

from pydantic import Field

from ragstone.settings.section import Section


class StatisticsSettings(Section):
    """What is kept of single questions."""

    trace_days: int = Field(
        7, ge=0, le=3650, description="Days that traces of questions are kept; 0 keeps none."
    )
    questions: bool = Field(
        False, description="Whether traces hold the question and what the stages say of it."
    )


class LogSettings(Section):
    """How the log is written."""

    format: str = Field(
        "text", pattern="^(text|json)$", description="text, or json with a line for each record."
    )


class TelemetrySettings(Section):
    """Where traces of requests are sent, by OpenTelemetry."""

    endpoint: str = Field(
        "", description="An OTLP/HTTP collector, as http://localhost:4318; empty sends nothing."
    )
