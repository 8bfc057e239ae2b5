"""Write and execute docs/notebook.ipynb: `python docs/make_notebook.py` (needs the extra docs)."""

from __future__ import annotations

from pathlib import Path

PATH = Path(__file__).parent / "notebook.ipynb"
CELLS = [
    "# permparse in a notebook\n\nA parse draws itself: words, the multiset of each as chips, and the jumps that put "
    "all tokens in order. The small number is the place in the output.",
    'from permparse import Parser\n\nparser = Parser.load("fragment")  # the parser in the box\n'
    'parser.parse("Ines gave a bell to Dora .", n_best=3)',
    "Sentences deeper than any of training are parsed by the same small pattern of jumps:",
    "parser.parse(parser.task.deep_samples[0])",
    "How sure was it, and where not?",
    'parse = parser.parse("the glorp of a cat slept .")\nfor doubt in parser.explain(parse).doubts:\n'
    "    print(doubt.kind, doubt.at, doubt.message)",
    "The relaxed permutation of any scores is a picture, too:",
    "import torch\n\nfrom permparse.permutation import BregmanSolver, JumpProblem\n\ntorch.manual_seed(0)\n"
    "scores = torch.randn(1, 6), 3 * torch.randn(1, 6, 6), torch.randn(1, 6)\n"
    "BregmanSolver().solve(JumpProblem(*scores))",
]


def write(path: Path = PATH) -> None:
    """Execute the cells, text and code in turns, and write them with their results."""
    import nbformat
    from nbclient import NotebookClient

    make = (nbformat.v4.new_markdown_cell, nbformat.v4.new_code_cell)
    cells = [make[number % 2](text) for number, text in enumerate(CELLS)]
    for number, cell in enumerate(cells):
        cell["id"] = f"cell-{number}"  # The same at every execution.
    made = nbformat.v4.new_notebook(cells=cells)
    NotebookClient(made, timeout=600, kernel_name="python3", record_timing=False).execute()
    nbformat.write(made, path)


if __name__ == "__main__":
    write()
