"""Learn to put the shuffled strips of a picture back in order: the permutation layer without any language.

Random pictures are cut into strips; every strip is faded, brightened and disturbed on its own, so that edges that
belong together no longer look alike. A small network learns from ordered pictures which strip follows which, and then
restores pictures of twice as many strips. Run it with: python docs/examples/reconstruct.py
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import torch
from torch import Tensor, nn

from permparse.permutation import BregmanSolver, JumpProblem, permutation_loss
from permparse.permutation.decoding import decode

HEIGHT, WIDTH, EDGE = 32, 6, 2
"""Rows of a picture, columns of a strip, and the columns at either side of a strip that the network sees."""
NOISE = 0.15
SCALE = 15.0
"""Bound on the jump scores: large beside the temperature 1 / log n, small enough for fast arithmetic."""


def pictures(number: int, strips: int, random: torch.Generator) -> Tensor:
    """Sums of eight random plane waves that fade out at the sides. *Shape:* [number, HEIGHT, strips * WIDTH]."""
    y = torch.arange(HEIGHT)[:, None] / HEIGHT
    x = torch.arange(strips * WIDTH)[None, :] / HEIGHT
    direction = 1.5 * torch.randn(number, 8, 2, 1, 1, generator=random)
    phase = torch.rand(number, 8, 1, 1, generator=random)
    waves = torch.cos(2 * torch.pi * (direction[:, :, 0] * y + direction[:, :, 1] * x + phase)).sum(1)
    border = torch.minimum(x, x.flip(1)) * HEIGHT / WIDTH
    return waves / waves.std((1, 2), keepdim=True) * border.clamp(max=1)


def cut(picture: Tensor) -> Tensor:
    """*Shape:* [B, HEIGHT, n * WIDTH] -> [B, n, HEIGHT, WIDTH]."""
    return picture.unflatten(2, (-1, WIDTH)).transpose(1, 2)


def join(strips: Tensor) -> Tensor:
    """The inverse of `cut`, for one picture. *Shape:* [n, HEIGHT, WIDTH] -> [HEIGHT, n * WIDTH]."""
    return strips.transpose(0, 1).flatten(1)


def disturb(strips: Tensor, random: torch.Generator) -> Tensor:
    """Give every strip a contrast and a brightness of its own, and noise."""
    contrast = 0.5 + torch.rand(*strips.shape[:2], 1, 1, generator=random)
    brightness = torch.randn(*strips.shape[:2], 1, 1, generator=random)
    return contrast * strips + brightness + NOISE * torch.randn(strips.shape, generator=random)


def shuffle(strips: Tensor, random: torch.Generator) -> tuple[Tensor, Tensor]:
    """Shuffled strips, and where each belongs. *Shape:* [B, n, HEIGHT, WIDTH] and [B, n]."""
    place = torch.stack([torch.randperm(strips.shape[1], generator=random) for _ in strips])
    return strips.gather(1, place[:, :, None, None].expand_as(strips)), place


class StripScorer(nn.Module):
    """Which strip directly follows which (the right edge of k compared with the left edge of i), is first, is last."""

    def __init__(self, size: int = 64) -> None:
        super().__init__()
        self.right = self.edge_network(size)
        self.left = self.edge_network(size)
        self.start = nn.Linear(size, 1)
        self.end = nn.Linear(size, 1)

    @staticmethod
    def edge_network(size: int) -> nn.Sequential:
        # Normalised at the end, so that scores stay bounded however long one trains.
        return nn.Sequential(
            nn.Linear(HEIGHT * EDGE, 128), nn.GELU(), nn.Linear(128, size), nn.LayerNorm(size, elementwise_affine=False)
        )

    def forward(self, strips: Tensor) -> JumpProblem:
        right = self.right(strips[..., -EDGE:].flatten(2))
        left = self.left(strips[..., :EDGE].flatten(2))
        jump = SCALE * right @ left.transpose(1, 2) / right.shape[2]  # [B, k, i]
        return JumpProblem(start=self.start(left).squeeze(2), jump=jump, end=self.end(right).squeeze(2))


def edge_difference(strips: Tensor) -> JumpProblem:
    """What one would write by hand: a jump is the better, the less the two edges differ."""
    jump = -torch.cdist(strips[..., -1], strips[..., 0])
    nothing = jump.new_zeros(jump.shape[:2])
    return JumpProblem(start=nothing, jump=jump, end=nothing)


def train(steps: int, strips: int = 12, batch: int = 16, seed: int = 0) -> StripScorer:
    """Minimise the distance of the relaxed permutation from the right one."""
    random = torch.Generator().manual_seed(seed)
    torch.manual_seed(seed)
    scorer, solver = StripScorer(), BregmanSolver(tolerance=1e-3, max_sweeps=150)
    optimiser = torch.optim.Adam(scorer.parameters(), lr=2e-3)
    for step in range(1, steps + 1):
        seen, place = shuffle(disturb(cut(pictures(batch, strips, random)), random), random)
        allowed = nn.functional.one_hot(place, strips).bool()  # strip i may stand only where it belongs
        loss = permutation_loss(scorer(seen), allowed, solver).mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        if step % 100 == 0:
            print(f"step {step:4}  loss {loss.item():7.2f}")
    return scorer


def right_neighbours(problem: JumpProblem, place: Tensor) -> float:
    """The share of neighbouring strips that the best order gets right."""
    right = total = 0
    for b, decoded in enumerate(decode(problem)):
        found = place[b, decoded.order]
        right += int((found.diff() == 1).sum())
        total += len(found) - 1
    return right / total


def draw(scorer: StripScorer, path: Path, strips: int = 24, seed: int = 5) -> None:
    """One picture: as it comes, restored by hand-written and by learned scores, and the relaxed permutation."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot
    from PIL import Image

    random = torch.Generator().manual_seed(seed)
    clean = cut(pictures(1, strips, random))
    disturbed = disturb(clean, random)
    seen, place = shuffle(disturbed, random)
    by_hand, learned = edge_difference(seen), scorer(seen)
    solution = BregmanSolver().solve(learned)
    back = place[0].argsort()  # strips in the order of the original

    figure = pyplot.figure(figsize=(9, 4.4), layout="constrained")
    left, right = figure.subfigures(1, 2, width_ratios=(2.5, 1))
    pieces = clean[0][place[0]]
    for row, (title, picture) in enumerate(
        (
            ("what comes in: shuffled, faded, noisy", join(seen[0])),
            ("order by smallest edge difference", join(pieces[decode(by_hand)[0].order])),
            ("order by learned jumps", join(pieces[decode(learned)[0].order])),
            ("original", join(clean[0])),
        )
    ):
        axes = left.add_subplot(4, 1, row + 1)
        axes.imshow(picture.numpy(), cmap="twilight_shifted", aspect="auto", interpolation="nearest")
        axes.set_title(title, loc="left", fontsize=9, color="#333333", pad=3)
        axes.set_axis_off()
    panels = (
        ("$U$: strip i at position j", solution.u[0][back], "position j", "strip i"),
        ("$\\Sigma_j W$: i follows k", solution.jump_marginals[0][back][:, back], "strip i", "strip k"),
    )
    for half, (title, matrix, across, down) in enumerate(panels):
        axes = right.add_subplot(2, 1, half + 1)
        axes.imshow(matrix.detach().numpy(), cmap="magma_r", vmin=0, vmax=1)
        axes.set_title(title, loc="left", fontsize=9, color="#333333", pad=3)
        axes.set_xlabel(across, fontsize=8, labelpad=2, color="#333333")
        axes.set_ylabel(down, fontsize=8, labelpad=2, color="#333333")
        axes.set(xticks=[], yticks=[])
        for spine in axes.spines.values():
            spine.set_color("#bbbbbb")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=100)
    pyplot.close(figure)
    with Image.open(path) as image:
        image.convert("RGB").quantize(256).save(path, optimize=True)  # less than half the size


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--steps", type=int, default=400, help="training steps of 16 pictures")
    arguments.add_argument("--picture", type=Path, help="where to save the picture; none if not given")
    chosen = arguments.parse_args()
    torch.set_num_threads(1)  # faster than more for a network this small
    started = time.perf_counter()
    scorer = train(chosen.steps)
    print(f"trained in {time.perf_counter() - started:.0f} s on pictures of 12 strips")
    print("right neighbours among 200 new pictures, by hand / learned:")
    for strips in (12, 24):
        random = torch.Generator().manual_seed(1)
        seen, place = shuffle(disturb(cut(pictures(200, strips, random)), random), random)
        with torch.no_grad():
            scores = right_neighbours(edge_difference(seen), place), right_neighbours(scorer(seen), place)
        print(f"{strips:4} strips  {scores[0]:6.1%} / {scores[1]:6.1%}")
    if chosen.picture:
        draw(scorer, chosen.picture)
        print(f"saved {chosen.picture}")


if __name__ == "__main__":
    main()
