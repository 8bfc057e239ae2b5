"""Pictures: well-formed, complete, safe with any text, and the same wherever they are shown."""

import re
from xml.etree import ElementTree

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from permparse import Parse, Parser
from permparse.drawing import heat_map, jump_picture, standalone
from permparse.permutation import BregmanSolver, JumpProblem

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def parse() -> Parse:
    return Parser.load("fragment").parse("Ines gave a bell to Dora .", n_best=2)


def test_a_picture_has_every_word_every_chip_and_every_jump(parse: Parse) -> None:
    root = ElementTree.fromstring(parse.to_svg())
    texts = ["".join(element.itertext()) for element in root.iter(f"{SVG}text")]
    assert [text for text in texts if text in parse.words[:-1]][: len(parse.words) - 1] == list(parse.words[:-1])
    for token in parse.tokens:
        assert token in texts
    lines = [path for path in root.iter(f"{SVG}path") if path.get("class") == "line"]
    assert len(lines) == len(parse.tokens) - 1


def test_chips_do_not_overlap_and_stay_inside(parse: Parse) -> None:
    picture = jump_picture(parse.words, parse.multisets, parse.order)
    chips = sorted(picture.chips, key=lambda chip: (chip.x, chip.y))
    for chip in chips:
        assert chip.x >= 0
        assert chip.x + chip.width <= picture.width
        assert chip.bottom < picture.height
    for a in chips:
        for b in chips:
            apart = a.x + a.width <= b.x or b.x + b.width <= a.x or a.bottom <= b.y or b.bottom <= a.y
            assert a is b or apart


def test_the_notebook_shows_the_same_drawing_and_the_output(parse: Parse) -> None:
    html = parse._repr_html_()
    paths = re.compile(r' d="([^"]+)"')
    assert paths.findall(html) == paths.findall(parse.to_svg())
    assert parse.output in html
    assert f"{parse.confidence:.1%}" in html
    assert parse.alternatives[1].output in html


def test_a_parse_without_multisets_or_tokens_is_drawn() -> None:
    for words in ((), ("a", "b")):
        ElementTree.fromstring(Parse(" ".join(words), "", words, (), 0.0, 1.0).to_svg())
    ElementTree.fromstring(Parse("a", "", ("a",), (), 0.0, 1.0, multisets=((),)).to_svg())


TEXT = st.text(max_size=5)


@given(st.lists(st.tuples(TEXT, st.lists(TEXT, max_size=3)), max_size=4))
@settings(max_examples=25)
def test_any_text_gives_well_formed_pictures(content: list[tuple[str, list[str]]]) -> None:
    words, multisets = [word for word, _ in content], [tokens for _, tokens in content]
    order = range(sum(map(len, multisets)))[::-1]
    ElementTree.fromstring(jump_picture(words, multisets, order).svg("<&\x00"))
    ElementTree.fromstring(heat_map("]]>", [[0.5] * len(words)] * len(words), words, words))


def test_text_cannot_leave_its_element() -> None:
    script = "<script>alert(1)</script>"
    page = standalone(script, [Parse(script, script, (script,), (script,), 0.0, 1.0, ((script,),), (0,))._repr_html_()])
    assert "<script" not in page


def test_a_solution_shows_its_heat_maps() -> None:
    problem = JumpProblem(torch.randn(3, 4), torch.randn(3, 4, 4), torch.randn(3, 4), lengths=[4, 2, 3])
    html = BregmanSolver().solve(problem)._repr_html_()
    assert html.count("<svg") == 4
    assert html.count("<rect") == 2 * (16 + 4)
    assert "1 more example" in html
