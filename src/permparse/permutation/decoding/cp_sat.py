"""Proofs by OR-Tools CP-SAT: the best path as a circuit constraint over integer scores (optional extra
``prove``).

Scores are rounded up to integers, so the solver's bound is valid for the true scores as well.
"""

from __future__ import annotations

import numpy as np

from permparse.permutation.decoding.instance import Floats, Integers

RESOLUTION = 2**30
"""Integer steps between the smallest and the largest score of a problem."""


def prove_path(
    cost: Floats, hint: Integers | None, seconds: float, seed: int = 0
) -> tuple[Integers | None, float, float]:
    """Minimise the cost of a tour through all nodes of ``cost`` [n + 1, n + 1] within a time limit, on one
    thread.

    Returns the order, if one was found, a lower bound on the cost of every order, and the precision: rounding
    makes the bound too low by up to (n + 1) / RESOLUTION of the range of costs, so a smaller gap cannot be
    told from none.
    """
    try:
        from ortools.sat.python import cp_model
    except ImportError as error:
        raise ImportError("proving needs OR-Tools: pip install 'permparse[prove]'") from error
    m = len(cost)
    off_diagonal = ~np.eye(m, dtype=bool)
    lowest, highest = cost[off_diagonal].min(), cost[off_diagonal].max()
    step = (highest - lowest) / RESOLUTION or 1.0
    # Rounding costs down (scores up) keeps every integer total below the true one.
    steps = np.floor((np.where(off_diagonal, cost, lowest) - lowest) / step).astype(np.int64)

    model = cp_model.CpModel()
    arcs = [(k, i, model.new_bool_var(f"{k}>{i}")) for k in range(m) for i in range(m) if k != i]
    model.add_circuit(arcs)
    model.minimize(sum(int(steps[k, i]) * arc for k, i, arc in arcs))
    if hint is not None:
        tour = [m - 1, *hint.tolist()]
        used = set(zip(tour, tour[1:] + tour[:1], strict=True))
        for k, i, arc in arcs:
            model.add_hint(arc, (k, i) in used)
    solver = cp_model.CpSolver()
    solver.parameters.max_time_in_seconds = seconds
    solver.parameters.num_workers = 1
    solver.parameters.random_seed = seed
    status = solver.solve(model)
    bound = float(np.floor(solver.best_objective_bound)) * step + m * lowest
    if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return None, bound, m * step
    following = {k: i for k, i, arc in arcs if solver.boolean_value(arc)}
    order = []
    node = following[m - 1]
    while node != m - 1:
        order.append(node)
        node = following[node]
    return np.array(order, dtype=np.int64), bound, m * step
