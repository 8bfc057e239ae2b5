"""Work for the tests of executors; the argument says what to do."""

import json
import os
import time
from pathlib import Path


def main(text: str) -> None:
    """Leave the number of the process in a file, then end in the way that is asked for."""
    job = json.loads(text)
    calls = Path(job["calls"])
    with open(calls, "a") as file:
        print(os.getpid(), os.environ.get("PERMPARSE_DATA", ""), file=file)
    print("said by the work")
    if job["do"] == "fail":
        raise ValueError("the reason it failed")
    if job["do"] == "die once" and len(calls.read_text().splitlines()) == 1:
        os.kill(os.getpid(), 9)
    if job["do"] == "stay":
        time.sleep(60)
