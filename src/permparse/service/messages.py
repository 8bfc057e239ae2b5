"""What travels over HTTP: requests, answers and typed errors, as the OpenAPI schema describes them."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from permparse.parsers import Alternative, Parse
from permparse.parsers.explanation import Explanation

MOST_BEST = 20
MOST_CHARACTERS = 20_000
Text = Annotated[str, Field(max_length=MOST_CHARACTERS)]
ErrorCode = Literal[
    "invalid_request",
    "invalid_sentence",
    "too_long",
    "too_many_items",
    "too_large",
    "unauthorized",
    "not_found",
    "method_not_allowed",
    "not_ready",
    "overloaded",
    "timeout",
    "internal",
]


class ParseRequest(BaseModel):
    """Sentences to parse."""

    model_config = ConfigDict(extra="forbid")

    sentence: Annotated[
        Text | list[Text],
        Field(description="One sentence, or a list of them.", examples=["the nurse slept .", ["Emil slept ."]]),
    ]
    n_best: Annotated[int, Field(ge=1, le=MOST_BEST, strict=True, description="How many outputs to rank.")] = 1
    details: Annotated[
        bool, Field(strict=True, description="Also how sure each step was, U*, jump marginals, and times.")
    ] = False

    @property
    def sentences(self) -> list[str]:
        """The sentences, one or many."""
        return [self.sentence] if isinstance(self.sentence, str) else self.sentence


class Answer(BaseModel):
    """A parse as `Parser.parse` returns it, and its explanation if details were asked for."""

    parse: Parse
    explanation: Explanation | None = None


class Problem(BaseModel):
    """Why a request, or one of its sentences, was not answered."""

    code: ErrorCode
    message: str
    item: Annotated[int | None, Field(description="The index of the sentence; null if it is the whole request.")] = None


class ParseResponse(BaseModel):
    """An answer for every sentence, null where there is an error; the errors name the index of their sentence."""

    answers: list[Answer | None]
    errors: list[Problem]


class ErrorResponse(BaseModel):
    """Errors of a request of which nothing could be answered."""

    errors: list[Problem]


class Limits(BaseModel):
    """What a request may hold."""

    words: int
    items: int
    bytes: int
    n_best: int
    seconds: float


class ModelResponse(BaseModel):
    """What the service parses with."""

    name: str
    task: str
    summary: str
    facts: list[str]
    version: str
    samples: Annotated[list[str], Field(description="Sentences to try, like those of training.")]
    deep_samples: Annotated[list[str], Field(description="Sentences to try, deeper than any of training.")]
    limits: Limits


class Status(BaseModel):
    """Whether the service lives, or is ready."""

    status: Literal["ok", "starting", "failed"]


__all__ = [
    "Alternative",
    "Answer",
    "ErrorCode",
    "ErrorResponse",
    "Limits",
    "ModelResponse",
    "ParseRequest",
    "ParseResponse",
    "Problem",
    "Status",
]
