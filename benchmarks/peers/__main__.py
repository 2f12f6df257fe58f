"""`python -m benchmarks.peers [--limit N]`: with a limit, only show what comes out."""

import argparse
import sys

from benchmarks.__main__ import main
from benchmarks.peers.compare import compared

if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers")
    parser.add_argument("--limit", type=int, help="questions asked of each set; stores nothing")
    limit = parser.parse_args().limit
    if limit is None:
        sys.exit(main(["peers"]))
    for row in compared(limit):
        print(row.line(), flush=True)
