# %% [markdown]
# # Ragstone in a notebook
#
# Open this file in VS Code, PyCharm or Spyder and run it cell by cell, or make a notebook of it:
# `jupytext --to notebook examples/notebook.py`.

# %%
import os
from pathlib import Path

import ragstone

DOCUMENTS = Path(__file__).with_name("documents") if "__file__" in globals() else "documents"
rag = ragstone.Client(os.environ.get("RAGSTONE_DATA", "./data"))

# %% [markdown]
# Index the example documents. Run the cell again: nothing has changed, so nothing is read again.

# %%
for step in rag.ingest_steps(DOCUMENTS):
    print(f"{step.phase}: {step.indexed} of {step.total or '?'} files", end="\r")
print(f"\n{step.indexed} indexed, {step.unchanged} unchanged, {len(step.failed)} failed")

# %% [markdown]
# Ask. Every sentence names its source.

# %%
answer = rag.ask("What was the revenue in 2024?")
print(answer)

# %%
for source in answer.cited:
    print(f"[{source.number}] {source.title}, page {source.page}: {source.snippet}")

# %%
[(verdict.label, verdict.sentence) for verdict in answer.verdicts]

# %% [markdown]
# Watch an answer come.

# %%
for event in rag.stream("When did the council decide to launch Lantern 4?"):
    if isinstance(event, ragstone.Token):
        print(event.text, end="", flush=True)

# %% [markdown]
# What the search found, best first.

# %%
for hit in rag.search("battery", top_k=3):
    print(f"{hit.score:.2f}  {hit.path}  {hit.text[:60]!r}")

# %% [markdown]
# Where the time went.

# %%
slowest = sorted(answer.trace, key=lambda item: -item.seconds)[:5]
for one in slowest:
    print(f"{one.seconds * 1000:6.1f} ms  {one.stage:<14} {one.decision}")

# %%
rag.close()
