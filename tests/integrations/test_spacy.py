"""The spaCy component: found by name, in batches, saved with its pipeline."""

from pathlib import Path

import pytest

from permparse import Parse

spacy = pytest.importorskip("spacy", reason="needs the extra spacy")

from permparse.integrations import spacy_pipe  # noqa: E402  (registers the component where it is not installed)

SENTENCES = ["Ines gave a bell to Dora .", "the nurse slept .", "   "]


def test_documents_get_their_parses(tmp_path: Path) -> None:
    nlp = spacy.blank("en")
    nlp.add_pipe(spacy_pipe.NAME)
    docs = list(nlp.pipe(SENTENCES * 3, batch_size=4))
    assert [doc.text for doc in docs] == SENTENCES * 3
    assert isinstance(docs[0]._.parse, Parse)
    assert docs[1]._.parse.output == "the nurse(1); sleep(2, agent=1)"
    assert docs[2]._.parse is None
    nlp.to_disk(tmp_path / "pipeline")
    again = spacy.load(tmp_path / "pipeline")
    assert again(SENTENCES[0])._.parse.output == docs[0]._.parse.output
