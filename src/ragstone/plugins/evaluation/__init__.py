"""Measures of retrieval, answers and the cache, and sets of questions about one's own documents."""

from ragstone.registry import Extension, Plugin

PLUGIN = Plugin(
    "Measures of retrieval and answers, and sets of questions about one's own documents.",
    {
        "adapters": {"evaluation": Extension(f"{__name__}.store:SqlEvaluations.make")},
        "commands": {
            "eval": Extension(
                f"{__name__}.set_commands:app",
                "Measure retrieval and answers on a set of questions.",
            )
        },
        "jobs": {
            "evaluation": Extension(f"{__name__}.job:evaluation_work"),
            "question_set": Extension(f"{__name__}.service:question_set_work"),
        },
        "services": {"evaluation": Extension(f"{__name__}.contract:EVALUATION")},
    },
    points=(f"{__name__}.commands:MEASURES",),
)
