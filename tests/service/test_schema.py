"""The API keeps to its schema, whatever is sent: a few examples of schemathesis."""

from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, Phase, given, settings

from service.running import running

schemathesis = pytest.importorskip("schemathesis", reason="needs schemathesis: pip install schemathesis")
checks = pytest.importorskip("schemathesis.specs.openapi.checks")


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator:
    with running(tmp_path_factory.mktemp("service")) as service:
        yield schemathesis.openapi.from_url(f"{service.url}/openapi.json")


FEW = settings(max_examples=10, phases=[Phase.generate], suppress_health_check=list(HealthCheck))


def test_no_answer_is_a_fault_and_all_follow_the_schema(api) -> None:
    operations = [result.ok() for result in api.get_all_operations()]
    assert {operation.path for operation in operations} == {"/parse", "/health", "/ready", "/model", "/metrics"}
    for operation in operations:

        @FEW
        @given(case=operation.as_strategy())
        def check(case) -> None:
            # A sentence of blanks fits the schema and is refused all the same: no schema says "at least one word".
            case.call_and_validate(excluded_checks=[checks.positive_data_acceptance])

        check()
