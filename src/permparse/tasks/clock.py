"""Times of day in English as the queries of ATIS write them: between 5 and 7pm ↦ between 1700 and 1900.

A time can then be copied like any other value, also one that training never shows.
"""

import re

MONTHS = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
]
NO_DATE = "".join(rf"(?<!\b{month} )" for month in MONTHS)
"""The number behind a month is a day, not an hour: july 5 in the evening."""
HOUR = NO_DATE + r"\b(?P<hour{0}>1[0-2]|[1-9])(?::?(?P<minute{0}>[0-5]\d))?"
OCLOCK = r"(?:\s*o'?clock)?"
HALF = r"\s*(?:(?P<morning>a\.?m\b\.?|in the morning)|p\.?m\b\.?|in the (?:afternoon|evening)|at night)"
PAIR = re.compile(HOUR.format(1) + OCLOCK + r"\s+(?P<word>and|to|or)\s+" + HOUR.format(2) + OCLOCK + HALF)
SINGLE = re.compile(HOUR.format(2) + OCLOCK + HALF)
NOON = re.compile(r"\b12" + OCLOCK + r"\s*noon\b")


def on_the_clock(sentence: str) -> str:
    """The sentence, in lower case, with times of a known half of the day as numbers from 0 to 2359."""
    sentence = NOON.sub("noon", sentence)
    sentence = PAIR.sub(lambda found: f"{_time(found, 1)} {found['word']} {_time(found, 2)}", sentence)
    return SINGLE.sub(lambda found: str(_time(found, 2)), sentence)


def _time(found: re.Match[str], number: int) -> int:
    hour = int(found[f"hour{number}"]) % 12 + (0 if found["morning"] else 12)
    return 100 * hour + int(found[f"minute{number}"] or 0)
