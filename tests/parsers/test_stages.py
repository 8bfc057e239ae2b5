"""What the scorer is trained on."""

from __future__ import annotations

import numpy as np

from permparse.parsers.multiset_permutation.stages import allowed_cells


def test_a_token_may_stand_where_its_type_stands_and_nowhere_in_the_padding():
    allowed = allowed_cells([np.array([0, 1, 0]), np.array([0])], [np.array([1, 0, 0]), np.array([0])])
    assert allowed[0].tolist() == [[False, True, True], [True, False, False], [False, True, True]]
    assert allowed[1].tolist() == [[True, False, False], [False] * 3, [False] * 3]
