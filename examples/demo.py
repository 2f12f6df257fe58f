"""The two-minute tour: index the documents beside this file and ask three questions."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

RAGSTONE = Path(sys.executable).with_name("ragstone")
DOCUMENTS = Path(__file__).with_name("documents")
QUESTIONS = (
    "How long does a full battery charge last without sun?",
    "When did the council decide to launch Lantern 4?",
    "What was the revenue in 2024?",
)


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="ragstone-demo-") as data:
        environment = {**os.environ, "RAGSTONE_DATA": data}
        run(environment, "ingest", str(DOCUMENTS))
        for question in QUESTIONS:
            run(environment, "ask", question)
    print("\nNow with your own: ragstone ingest FOLDER, then ragstone ask 'your question'.")


def run(environment: dict[str, str], *arguments: str) -> None:
    shown = " ".join(f'"{a}"' if " " in a else a for a in arguments)
    print(f"\n$ ragstone {shown}", flush=True)
    subprocess.run([str(RAGSTONE), *arguments], env=environment, check=True)


if __name__ == "__main__":
    main()
