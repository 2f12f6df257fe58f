"""Benchmarks that others have measured too: `python -m benchmarks public.rgb`, and so on.

Each module names the public project that has its data. Clone that into a folder and name the folder
in `RAGSTONE_PUBLIC_DATA`; nothing is fetched here. What of it is absent is left out, and the rows
say how many questions were asked. All are asked of the default set-up, without a chat model:
answers are the documents' own sentences. `PUBLIC_REPLIES` names a folder that keeps every reply, to
be read and judged anew without asking. `results/public.md` has the figures beside those of others.
"""
