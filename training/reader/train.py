"""Trains the reader: `python -m training.reader.train FOLDER MINUTES [LAYERS [NAME.pt [TEACHER]]]`,
in an environment with torch (`make reader` makes it), which Ragstone itself does not need.

Reads what `build.py` wrote to FOLDER and `start.npz`, the weights to begin with (`start.py`): the
embedder's layers, or a trained reader.
Writes reader.pt there now and then, from which it goes on if it is called again, at the end
reader.npz, and losses and the figures of the checking rows to reader.log. On a GPU, where there is
one, it learns more in a minute than two processors in a night. Shards that are added while it runs
are read too. With TEACHER, the .pt of a larger model, it learns what that one makes of each row.
With `--own SHARE` it reads all shards mixed row by row, so that none is seen last, and of those
that are not of labelled sets (`build.py --harvested`) this share of rows, others each time.
"""

import argparse
import copy
import os
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

import numpy as np
import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.multiprocessing import spawn
from torch.nn import functional

from training.reader.shards import Rows, read_batches, read_checks

WIDTH, INNER, HEADS = 384, 1536, 12
LAYERS = 8
TOLD = 2
"""The layers after which each token gets the embedding of its part: question, claim or passage."""

SEED = 1
FURTHER = 2 / 3
"""What the rates are multiplied with for a model that was trained before."""

HARD = 0.3
"""What the labels themselves weigh beside what a teacher makes of them."""


@dataclass(frozen=True)
class Way:
    """How to train. `tokens` are those of one step of one process, padding included; `longest`, of
    a row that is learned from; `still`, the first layers that stay as they are; `warming`, the
    steps until the rates are whole, which then fall to nothing at the end of the time."""

    processes: int
    tokens: int
    longest: int
    rate: float
    head_rate: float
    dropout: float
    still: int
    warming: int
    check_every: float


PROCESSOR = Way(
    processes=int(os.environ.get("READER_PROCESSES", "2")),
    tokens=2400,
    # Of rows up to 144 it would learn a third more, and unlearn what it knows of longer passages.
    longest=256,
    rate=1.2e-4,
    head_rate=5e-4,
    dropout=0.0,
    # Four layers that learn are a third faster than six.
    still=2,
    warming=200,
    check_every=1200.0,
)
GPU = Way(
    processes=1,
    tokens=40_000,
    longest=320,
    rate=3e-4,
    head_rate=6e-4,
    dropout=0.1,
    still=0,
    warming=300,
    check_every=90.0,
)
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
WAY = GPU if DEVICE == "cuda" else PROCESSOR


class Layer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.qkv = nn.Linear(WIDTH, 3 * WIDTH)
        self.ao = nn.Linear(WIDTH, WIDTH)
        self.aln = nn.LayerNorm(WIDTH, 1e-12)
        self.fi = nn.Linear(WIDTH, INNER)
        self.fo = nn.Linear(INNER, WIDTH)
        self.oln = nn.LayerNorm(WIDTH, 1e-12)
        self.dropped = nn.Dropout(WAY.dropout)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        rows, size, _ = x.shape
        q, k, v = self.qkv(x).view(rows, size, 3, HEADS, -1).permute(2, 0, 3, 1, 4)
        if x.is_cuda:
            seen = functional.scaled_dot_product_attention(q, k, v, mask.to(q.dtype))
        else:
            # On a processor, for short rows, this trains twice as fast as the fused attention.
            likely = torch.softmax((q @ k.transpose(-1, -2) * q.shape[-1] ** -0.5) + mask, -1)
            seen = likely.to(v.dtype) @ v
        added = self.ao(seen.transpose(1, 2).reshape(rows, size, WIDTH))
        x = self.aln(x + self.dropped(added))
        return self.oln(x + self.dropped(self.fo(functional.gelu(self.fi(x)))))


class ReaderModel(nn.Module):
    """From the states of tokens before the first layer, and what each token belongs to, to
    `seen` (rows, 4): answers, supported, contradicted, not said; and `each` (rows, tokens, 3):
    begin and end of the answer, and that a token of a claim is wrong."""

    def __init__(self, layers: int) -> None:
        super().__init__()
        self.ln = nn.LayerNorm(WIDTH, 1e-12)
        self.part = nn.Embedding(4, WIDTH)
        nn.init.zeros_(self.part.weight)
        self.layers = nn.ModuleList(Layer() for _ in range(layers))
        self.join = nn.Linear(4 * WIDTH, WIDTH)
        self.out = nn.Linear(WIDTH, 4)
        self.each = nn.Linear(WIDTH, 3)

    def forward(self, states: Tensor, parts: Tensor) -> tuple[Tensor, Tensor]:
        """`parts` is -1 behind the end of a row."""
        x = self.ln(states)
        mask = (parts < 0)[:, None, None, :] * -1e4
        for number, layer in enumerate(self.layers):
            if number == TOLD:
                x = x + self.part(parts.clamp(min=0))
            x = layer(x, mask)
        text = (parts == 1)[..., None].to(x.dtype)
        passage = (parts == 3)[..., None].to(x.dtype)
        mean_text = (x * text).sum(1) / text.sum(1).clamp(min=1)
        mean_passage = (x * passage).sum(1) / passage.sum(1).clamp(min=1)
        most = (x - 1e4 * (1 - text)).amax(1)
        joined = torch.cat([x[:, 0], mean_text, mean_passage, most], 1)
        return self.out(functional.gelu(self.join(joined))), self.each(x)


class Words:
    """The table of words and of places, which stays as it is."""

    def __init__(self, start: dict[str, np.ndarray]) -> None:
        self._table = torch.from_numpy(start["words"]).to(DEVICE)
        self._places = torch.from_numpy(start["places"]).to(DEVICE)

    def states(self, ids: Tensor) -> Tensor:
        return self._table[ids].float() + self._places[: ids.shape[1]]


Batch = tuple[Tensor, ...]
"""What `Rows.batch` gives: ids, parts, right and labels."""


def tensors(batch: tuple[np.ndarray, ...]) -> Batch:
    """The arrays on the device; the labels stay here, so that choosing rows waits for nothing."""
    *arrays, labels = (torch.from_numpy(item).long() for item in batch)
    return (*(array.to(DEVICE, non_blocking=True) for array in arrays), labels)


def rows_with(labels: Tensor) -> tuple[Tensor, Tensor]:
    """Return the rows that have this label, and the labels, on the device."""
    rows = (labels >= 0).nonzero()[:, 0]
    return rows.to(DEVICE, non_blocking=True), labels[rows].to(DEVICE, non_blocking=True)


def loss_of(seen: Tensor, each: Tensor, batch: Batch) -> Tensor:
    _, parts, right, labels = batch
    (asked, answers), (spans, start) = rows_with(labels[:, 0]), rows_with(labels[:, 1])
    claims, verdict = rows_with(labels[:, 3])
    end = labels[:, 2][labels[:, 1] >= 0].to(DEVICE, non_blocking=True)
    total = functional.binary_cross_entropy_with_logits(
        seen[asked, 0], answers.float(), reduction="sum"
    )
    likely = functional.log_softmax(seen[claims, 1:], 1)
    either = torch.logsumexp(likely[:, 1:], 1, keepdim=True)
    likely = torch.cat([likely, either], 1)
    total = total - likely.gather(1, verdict[:, None]).sum()
    logits = each[spans, :, :2].masked_fill((parts[spans] != 3)[..., None], -1e4)
    total = total + 0.25 * (
        functional.cross_entropy(logits[..., 0], start, reduction="sum")
        + functional.cross_entropy(logits[..., 1], end, reduction="sum")
    )
    marked = right >= 0
    each_loss = functional.binary_cross_entropy_with_logits(
        each[..., 2], right.float(), reduction="none", pos_weight=each.new_tensor(3.0)
    )
    share = marked.float() / marked.sum(1, keepdim=True).clamp(min=1)
    total = total + 2.0 * (each_loss * share).sum()
    return total / len(labels)


def measure_distance(
    seen: Tensor, each: Tensor, taught: tuple[Tensor, Tensor], batch: Batch
) -> Tensor:
    """Tell how far the outputs are from those of a teacher, where a row of its kind has any."""
    _, parts, right, labels = batch
    asked, spans, claims = (rows_with(labels[:, column])[0] for column in (0, 1, 3))
    pair, tokens, marked = taught[0].float(), taught[1].float(), right >= 0
    total = functional.binary_cross_entropy_with_logits(
        seen[asked, 0], pair[asked, 0].sigmoid(), reduction="sum"
    )
    total = total + functional.cross_entropy(
        seen[claims, 1:], pair[claims, 1:].softmax(1), reduction="sum"
    )
    hidden = (parts[spans] != 3)[..., None]
    for place in (0, 1):
        logits = each[spans].masked_fill(hidden, -1e4)[..., place]
        aims = tokens[spans].masked_fill(hidden, -1e4)[..., place].softmax(1)
        total = total + 0.25 * functional.cross_entropy(logits, aims, reduction="sum")
    share = marked.float() / marked.sum(1, keepdim=True).clamp(min=1)
    wrong = functional.binary_cross_entropy_with_logits(
        each[..., 2], tokens[..., 2].sigmoid(), reduction="none"
    )
    return (total + 2.0 * (wrong * share).sum()) / len(labels)


def auroc(scores: np.ndarray, right: np.ndarray) -> float:
    order = np.argsort(scores, kind="stable")
    ranks = np.empty(len(scores))
    ranks[order] = np.arange(1, len(scores) + 1)
    positive = right.sum()
    negative = len(right) - positive
    if not positive or not negative:
        return float("nan")
    return float((ranks[right].sum() - positive * (positive + 1) / 2) / (positive * negative))


def check_all(
    model: ReaderModel, words: Words, checks: Sequence[Rows], log: TextIO, every: int = 1
) -> None:
    """Log the figures of each file of rows to check with, one in a line."""
    for rows in checks:
        print(check_rows(model, words, rows, every), file=log, flush=True)


@torch.no_grad()
def check_rows(model: ReaderModel, words: Words, rows: Rows, every: int = 1) -> str:
    """The AUROC of every kind of row, or of one row of `every` so many."""
    found: dict[str, list[tuple[float, bool]]] = defaultdict(list)
    model.eval()
    for chosen in rows.batches(None, 4000, every):
        ids, parts, *_ = tensors(rows.batch(chosen))
        with torch.autocast(DEVICE, torch.bfloat16):
            seen, _ = model(words.states(ids), parts)
        seen = seen.float().cpu()
        supported = functional.softmax(seen[:, 1:], 1)[:, 0]
        for i, row in enumerate(chosen):
            answers, _, _, verdict = rows.labels[row]
            if answers >= 0:
                found[rows.kinds[row] + " ?"].append((float(seen[i, 0]), bool(answers)))
            else:
                found[rows.kinds[row]].append((float(supported[i]), verdict == 0))
    model.train()
    lines = []
    for kind, pairs in sorted(found.items()):
        scores, right = np.array([p[0] for p in pairs]), np.array([p[1] for p in pairs])
        lines.append(f"{kind} {auroc(scores, right):.3f}")
    return ", ".join(lines)


def begun(start: dict[str, np.ndarray], layers: int) -> ReaderModel:
    """Return a model with the weights of the embedder's first layers."""
    model = ReaderModel(layers)
    state = model.state_dict()
    for name in state:
        if name in start:
            state[name] = torch.from_numpy(start[name])
    model.load_state_dict(state)
    return model


def load_model(state: dict[str, Tensor]) -> ReaderModel:
    """Return the trained model, to read with."""
    model = ReaderModel(sum(name.endswith("qkv.bias") for name in state))
    model.load_state_dict(state)
    return model.to(DEVICE).eval()


def taught_by(teacher: dict[str, Tensor], layers: int) -> ReaderModel:
    """A smaller model with some of the teacher's layers: the first, the last and those between."""
    last = 1 + max(int(name.split(".")[1]) for name in teacher if name.startswith("layers."))
    model = ReaderModel(layers)
    state = {name: item for name, item in teacher.items() if not name.startswith("layers.")}
    for layer in range(layers):
        source = f"layers.{round(layer * (last - 1) / (layers - 1))}."
        for name, item in teacher.items():
            if name.startswith(source):
                state[name.replace(source, f"layers.{layer}.")] = item
    model.load_state_dict(state)
    return model


def make_optimizer(model: ReaderModel) -> torch.optim.AdamW:
    """Make an optimizer of what learns: the layers, and the heads at a rate of their own."""
    body, heads = [], []
    for name, parameter in model.named_parameters():
        if parameter.requires_grad:
            (body if name.split(".")[0] in ("ln", "layers") else heads).append(parameter)
    groups = [{"params": body, "lr": WAY.rate}, {"params": heads, "lr": WAY.head_rate}]
    return torch.optim.AdamW(groups, weight_decay=0.01, betas=(0.9, 0.98), fused=True)


class HalfWidth:
    """A copy of a model that computes in 16 bits on a processor, 1.8 times as fast as autocast.

    The model itself keeps what is learned: steps would be lost in so few bits.
    """

    def __init__(self, model: ReaderModel) -> None:
        self._half = copy.deepcopy(model).bfloat16()
        self._compiled = torch.compile(self._half, dynamic=True)
        self._wide = [p for p in model.parameters() if p.requires_grad]
        self._narrow = [p for p in self._half.parameters() if p.requires_grad]

    def __call__(self, states: Tensor, parts: Tensor) -> tuple[Tensor, Tensor]:
        seen, each = self._compiled(states.bfloat16(), parts)
        return seen, each

    def give_gradients(self) -> None:
        for wide, narrow in zip(self._wide, self._narrow, strict=True):
            wide.grad = torch.zeros_like(wide) if narrow.grad is None else narrow.grad.float()
        self._half.zero_grad(set_to_none=True)

    @torch.no_grad()
    def take_weights(self) -> None:
        torch._foreach_copy_(self._narrow, self._wide)


def take_step(
    learned: list[nn.Parameter], optimizer: torch.optim.AdamW, half: HalfWidth | None
) -> None:
    """Learn from the gradients of all processes."""
    if half:
        half.give_gradients()
    _average(learned)
    torch.nn.utils.clip_grad_norm_(learned, 1.0)
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    if half:
        half.take_weights()


def train_process(
    rank: int,
    folder: Path,
    minutes: float,
    layers: int,
    out: Path,
    teacher: Path | None,
    own: float | None,
) -> None:
    """Train as one of several processes, each on rows of its own; the first one logs.

    Processes of one thread each are far faster than one with two threads where the machine has
    other work: they wait for each other once a step and not at every product of matrices.
    """
    torch.set_num_threads(1)
    torch.manual_seed(SEED)
    meeting = f"file://{out}.meeting"
    dist.init_process_group("gloo", meeting, rank=rank, world_size=WAY.processes)
    with np.load(folder / "start.npz") as held:
        start = {name: held[name] for name in held.files}
    words, checks = Words(start), read_checks(folder)
    known = torch.load(teacher, map_location="cpu") if teacher else None
    model = taught_by(known, layers) if known else begun(start, layers)
    master = load_model(known) if known else None
    if out.exists():
        model.load_state_dict(torch.load(out))
    model.to(DEVICE)
    for layer in (model.ln, *model.layers[: WAY.still]):
        layer.requires_grad_(False)
    learned = [p for p in model.parameters() if p.requires_grad]
    optimizer = make_optimizer(model)
    trained_before = out.exists() or "out.weight" in start
    rates = tuple((FURTHER if trained_before else 1) * item for item in (WAY.rate, WAY.head_rate))
    log = out.with_suffix(".log").open("a")
    began = last = time.time()
    step, seen_rows, smooth = 0, 0, 0.0
    half = HalfWidth(model) if DEVICE == "cpu" else None
    batches = read_batches(folder, WAY.longest, WAY.tokens, rank, WAY.processes, own)
    for batch in map(tensors, batches):
        share = torch.tensor([(time.time() - began) / (60 * minutes)])
        dist.broadcast(share, 0)
        if share >= 1:
            break
        for group, rate in zip(optimizer.param_groups, rates, strict=True):
            group["lr"] = rate * min(1, (step + 1) / WAY.warming) * (1 - float(share))
        states, parts = words.states(batch[0]), batch[1]
        with torch.autocast(DEVICE, torch.bfloat16, enabled=half is None):
            seen, each = half(states, parts) if half else model(states, parts)
        with torch.autocast(DEVICE, torch.bfloat16), torch.no_grad():
            taught = master(states, parts) if master else None
        loss = loss_of(seen.float(), each.float(), batch)
        if taught is not None:
            loss = HARD * loss + measure_distance(seen.float(), each.float(), taught, batch)
        loss.backward()
        take_step(learned, optimizer, half)
        step, seen_rows = step + 1, seen_rows + WAY.processes * len(batch[0])
        if rank == 0 and step % 50 == 0:
            now = loss.item()
            smooth = now if step == 50 else 0.8 * smooth + 0.2 * now
            took = time.time() - began
            print(f"{took:.0f} s, {step} steps, {seen_rows} rows, loss {smooth:.3f}", file=log)
            log.flush()
        if rank == 0 and time.time() - last > WAY.check_every:
            torch.save(model.state_dict(), out)
            check_all(model, words, checks, log, 4)
            last = time.time()
    if rank == 0:
        torch.save(model.state_dict(), out)
        weights = {name: item.cpu().numpy() for name, item in model.state_dict().items()}
        np.savez(out.with_suffix(".npz"), **weights)
        check_all(model, words, checks, log)


def _average(parameters: list[nn.Parameter]) -> None:
    if WAY.processes == 1:
        return
    given = [p.grad for p in parameters if p.grad is not None]
    flat = torch.cat([item.reshape(-1) for item in given])
    dist.all_reduce(flat)
    flat /= WAY.processes
    at = 0
    for item in given:
        item.copy_(flat[at : at + item.numel()].view_as(item))
        at += item.numel()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("minutes", type=float)
    parser.add_argument("layers", type=int, nargs="?", default=LAYERS)
    parser.add_argument("name", nargs="?", default="reader.pt")
    parser.add_argument("teacher", nargs="?")
    parser.add_argument("--own", type=float, metavar="SHARE")
    given = parser.parse_args()
    folder: Path = given.folder
    out = folder / given.name
    teacher = folder / given.teacher if given.teacher else None
    Path(f"{out}.meeting").unlink(missing_ok=True)
    spawn(
        train_process,
        (folder, given.minutes, given.layers, out, teacher, given.own),
        WAY.processes,
    )


if __name__ == "__main__":
    main()
