"""Stages have the field's names: options that were set by a former name are set by the new one."""

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"

RENAMED = {
    "act": "tool_agent",
    "appraise": "grade_passages",
    "foresee": "pre_answer_gate",
    "grade": "deduplicate",
    "instruct": "build_prompt",
    "need": "retrieval_gate",
}


def upgrade() -> None:
    for name in ("settings", "settings_log"):
        table = sa.table(name, sa.column("key", sa.Text))
        for former, stage in RENAMED.items():
            begin = f"stages.{former}."
            option = sa.func.substr(table.c.key, len(begin) + 1)
            named = table.update().where(table.c.key.startswith(begin, autoescape=True))
            op.execute(named.values(key=sa.literal(f"stages.{stage}.", sa.Text) + option))
