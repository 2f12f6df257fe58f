"""Trains the reader: `python training/reader/train.py FOLDER MINUTES [LAYERS [NAME.pt]]`, in an
environment with torch (`make reader` makes it), which Ragstone itself does not need.

Reads what `build.py` wrote to FOLDER and `start.npz`, the weights to begin with (`start.py`).
Writes reader.pt there now and then, from which it goes on if it is called again, at the end
reader.npz, and losses and the figures of the checking rows to reader.log.
"""

import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.multiprocessing import spawn
from torch.nn import functional

WIDTH, INNER, HEADS = 384, 1536, 12
LAYERS = 6
FROZEN = 2
"""Layers that stay as they are. Four that learn are a third faster than six, and the first ones
know what they need to: which word stands where."""

LONGEST = 144
"""Tokens of a row; longer ones, one in ten, would take a quarter of the time."""

SEED = 1
PROCESSES = 2
TOKENS = 1200
"""In one step of one process, padding included."""
RATE, HEAD_RATE = 1.2e-4, 5e-4
WARMING = 100
"""Steps until the rates are whole; then they fall to nothing at the end of the time."""
CHECK_EVERY = 1200.0
"""Seconds."""


class Layer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.qkv = nn.Linear(WIDTH, 3 * WIDTH)
        self.ao = nn.Linear(WIDTH, WIDTH)
        self.aln = nn.LayerNorm(WIDTH, 1e-12)
        self.fi = nn.Linear(WIDTH, INNER)
        self.fo = nn.Linear(INNER, WIDTH)
        self.oln = nn.LayerNorm(WIDTH, 1e-12)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        rows, size, _ = x.shape
        q, k, v = self.qkv(x).view(rows, size, 3, HEADS, -1).permute(2, 0, 3, 1, 4)
        # On a processor, for short rows, this trains twice as fast as torch's fused attention.
        likely = torch.softmax((q @ k.transpose(-1, -2) * q.shape[-1] ** -0.5) + mask, -1)
        seen = likely.to(v.dtype) @ v
        x = self.aln(x + self.ao(seen.transpose(1, 2).reshape(rows, size, WIDTH)))
        return self.oln(x + self.fo(functional.gelu(self.fi(x))))


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
            if number == FROZEN:
                x = x + self.part(parts.clamp(min=0))
            x = layer(x, mask)
        text = (parts == 1)[..., None].to(x.dtype)
        passage = (parts == 3)[..., None].to(x.dtype)
        mean_text = (x * text).sum(1) / text.sum(1).clamp(min=1)
        mean_passage = (x * passage).sum(1) / passage.sum(1).clamp(min=1)
        most = (x - 1e4 * (1 - text)).amax(1)
        joined = torch.cat([x[:, 0], mean_text, mean_passage, most], 1)
        return self.out(functional.gelu(self.join(joined))), self.each(x)


class Rows:
    def __init__(self, file: Path, longest: int = 512) -> None:
        with np.load(file) as held:
            self.ids, self.parts, self.right = held["ids"], held["parts"], held["right"]
            self.starts, self.labels = held["starts"], held["labels"]
            self.kinds = [str(held["names"][i]) for i in held["kinds"]]
        self.sizes = np.diff(self.starts)
        self._kept = np.flatnonzero(self.sizes <= longest)

    def batch(self, chosen: np.ndarray) -> tuple[np.ndarray, ...]:
        width = int(self.sizes[chosen].max())
        ids = np.zeros((len(chosen), width), np.int64)
        parts = np.full((len(chosen), width), -1, np.int64)
        right = np.full((len(chosen), width), -1, np.int64)
        for i, row in enumerate(chosen):
            held = slice(self.starts[row], self.starts[row + 1])
            size = int(self.sizes[row])
            ids[i, :size] = self.ids[held]
            parts[i, :size] = self.parts[held]
            right[i, :size] = self.right[held]
        return ids, parts, right, self.labels[chosen]

    def batches(
        self, chance: np.random.Generator | None, tokens: int, every: int = 1
    ) -> list[np.ndarray]:
        """Rows of about the same length together; in random order where `chance` is given."""
        kept = self._kept
        order = kept[::every] if chance is None else chance.permutation(kept)
        found = []
        for some in np.array_split(order, max(1, len(order) // 4000)):
            some = some[np.argsort(self.sizes[some], kind="stable")]
            now: list[int] = []
            for row in some:
                if now and self.sizes[row] * (len(now) + 1) > tokens:
                    found.append(np.array(now))
                    now = []
                now.append(int(row))
            found.append(np.array(now))
        if chance is not None:
            chance.shuffle(found)
        return found


class Words:
    """The table of words and of places, which stays as it is."""

    def __init__(self, start: dict[str, np.ndarray]) -> None:
        self._table = torch.from_numpy(start["words"])
        self._row = torch.from_numpy(start["rows"])
        self._places = torch.from_numpy(start["places"])

    def states(self, ids: np.ndarray) -> Tensor:
        return self._table[self._row[torch.from_numpy(ids)]].float() + self._places[: ids.shape[1]]


def loss_of(seen: Tensor, each: Tensor, batch: tuple[np.ndarray, ...]) -> Tensor:
    _, parts, right, labels = (torch.from_numpy(one).long() for one in batch)
    answers, start, end, verdict = labels.T
    total = 0 * each.sum()  # So that all processes have the same gradients.
    asked = answers >= 0
    if asked.any():
        total = total + functional.binary_cross_entropy_with_logits(
            seen[asked, 0], answers[asked].float(), reduction="sum"
        )
    claims = verdict >= 0
    if claims.any():
        likely = functional.log_softmax(seen[claims, 1:], 1)
        either = torch.logsumexp(likely[:, 1:], 1, keepdim=True)
        likely = torch.cat([likely, either], 1)
        total = total - likely.gather(1, verdict[claims, None]).sum()
    spans = start >= 0
    if spans.any():
        logits = each[spans, :, :2].masked_fill((parts[spans] != 3)[..., None], -1e4)
        total = total + 0.25 * (
            functional.cross_entropy(logits[..., 0], start[spans], reduction="sum")
            + functional.cross_entropy(logits[..., 1], end[spans], reduction="sum")
        )
    marked = right >= 0
    if marked.any():
        each_loss = functional.binary_cross_entropy_with_logits(
            each[..., 2], right.float(), reduction="none", pos_weight=torch.tensor(3.0)
        )
        share = marked.float() / marked.sum(1, keepdim=True).clamp(min=1)
        total = total + 2.0 * (each_loss * share).sum()
    return total / len(labels)


def auroc(scores: np.ndarray, right: np.ndarray) -> float:
    order = np.argsort(scores, kind="stable")
    ranks = np.empty(len(scores))
    ranks[order] = np.arange(1, len(scores) + 1)
    positive = right.sum()
    negative = len(right) - positive
    if not positive or not negative:
        return float("nan")
    return float((ranks[right].sum() - positive * (positive + 1) / 2) / (positive * negative))


@torch.no_grad()
def checked(model: ReaderModel, words: Words, rows: Rows, every: int = 1) -> str:
    """The AUROC of every kind of row, or of one row of `every` so many."""
    found: dict[str, list[tuple[float, bool]]] = defaultdict(list)
    model.eval()
    for chosen in rows.batches(None, 4000, every):
        batch = rows.batch(chosen)
        with torch.autocast("cpu", torch.bfloat16):
            seen, _ = model(words.states(batch[0]), torch.from_numpy(batch[1]))
        seen = seen.float()
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
    """A model with the weights of the embedder's first layers."""
    model = ReaderModel(layers)
    state = model.state_dict()
    for name in state:
        if name in start:
            state[name] = torch.from_numpy(start[name])
    model.load_state_dict(state)
    return model


def trained(rank: int, folder: Path, minutes: float, layers: int, out: Path) -> None:
    """One of the processes that train together, each on rows of its own; the first one logs.

    Processes of one thread each are far faster than one with two threads where the machine has
    other work: they wait for each other once a step and not at every product of matrices.
    """
    torch.set_num_threads(1)
    torch.manual_seed(SEED)
    dist.init_process_group("gloo", f"file://{out}.meeting", rank=rank, world_size=PROCESSES)
    with np.load(folder / "start.npz") as held:
        start = {name: held[name] for name in held.files}
    words, rows, check = (
        Words(start),
        Rows(folder / "train.npz", LONGEST),
        Rows(folder / "check.npz"),
    )
    model = begun(start, layers)
    if out.exists():
        model.load_state_dict(torch.load(out))
    for layer in (model.ln, *model.layers[:FROZEN]):
        layer.requires_grad_(False)
    parameters = [(n, p) for n, p in model.named_parameters() if p.requires_grad]
    heads = [p for n, p in parameters if n.split(".")[0] in ("join", "out", "each", "part")]
    body = [p for n, p in parameters if n.split(".")[0] in ("ln", "layers")]
    groups = [{"params": body, "lr": RATE}, {"params": heads, "lr": HEAD_RATE}]
    optimizer = torch.optim.AdamW(groups, weight_decay=0.01, betas=(0.9, 0.98), fused=True)
    log = out.with_suffix(".log").open("a")
    began = last = time.time()
    step, seen_rows, smooth = 0, 0, 0.0
    for chosen in _mine(rows, rank):
        share = torch.tensor([(time.time() - began) / (60 * minutes)])
        dist.broadcast(share, 0)
        if share >= 1:
            break
        for group, rate in zip(optimizer.param_groups, (RATE, HEAD_RATE), strict=True):
            group["lr"] = rate * min(1, (step + 1) / WARMING) * (1 - float(share))
        batch = rows.batch(chosen)
        with torch.autocast("cpu", torch.bfloat16):
            seen, each = model(words.states(batch[0]), torch.from_numpy(batch[1]))
        loss = loss_of(seen.float(), each.float(), batch)
        loss.backward()
        _averaged([p for _, p in parameters])
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        step, seen_rows = step + 1, seen_rows + PROCESSES * len(chosen)
        now = loss.item()
        smooth = now if step == 1 else 0.98 * smooth + 0.02 * now
        if rank == 0 and step % 50 == 0:
            took = time.time() - began
            print(f"{took:.0f} s, {step} steps, {seen_rows} rows, loss {smooth:.3f}", file=log)
            log.flush()
        if rank == 0 and time.time() - last > CHECK_EVERY:
            torch.save(model.state_dict(), out)
            print(checked(model, words, check, 4), file=log, flush=True)
            last = time.time()
    if rank == 0:
        torch.save(model.state_dict(), out)
        weights = {name: one.numpy() for name, one in model.state_dict().items()}
        np.savez(out.with_suffix(".npz"), **weights)
        print(checked(model, words, check), file=log, flush=True)


def _mine(rows: Rows, rank: int) -> Iterator[np.ndarray]:
    """The batches of one process, without end: all processes draw the same order."""
    chance = np.random.default_rng(SEED)
    while True:
        order = rows.batches(chance, TOKENS)
        for i in range(rank, len(order) - len(order) % PROCESSES, PROCESSES):
            yield order[i]


def _averaged(parameters: list[nn.Parameter]) -> None:
    given = [p.grad for p in parameters if p.grad is not None]
    flat = torch.cat([one.reshape(-1) for one in given])
    dist.all_reduce(flat)
    flat /= PROCESSES
    at = 0
    for one in given:
        one.copy_(flat[at : at + one.numel()].view_as(one))
        at += one.numel()


def main() -> None:
    folder, minutes = Path(sys.argv[1]), float(sys.argv[2])
    layers = int(sys.argv[3]) if len(sys.argv) > 3 else LAYERS
    out = folder / (sys.argv[4] if len(sys.argv) > 4 else "reader.pt")
    Path(f"{out}.meeting").unlink(missing_ok=True)
    spawn(trained, (folder, minutes, layers, out), PROCESSES)


if __name__ == "__main__":
    main()
