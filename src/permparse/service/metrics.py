"""Figures for Prometheus: requests by answer, sentences, times, batches, and what waits."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector

SECONDS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10)


class Metrics:
    """The figures of one process; with several workers, of all of them."""

    def __init__(self, several_processes: bool = False) -> None:
        self.several_processes = several_processes
        self.registry = registry = CollectorRegistry()
        self.requests = Counter("permparse_requests", "Requests answered.", ["path", "status"], registry=registry)
        self.seconds = Histogram(
            "permparse_request_seconds", "Time from request to answer of /parse.", buckets=SECONDS, registry=registry
        )
        self.sentences = Counter(
            "permparse_sentences", "Sentences by what became of them.", ["result"], registry=registry
        )
        self.parsing = Histogram(
            "permparse_parse_seconds", "Time per sentence of a batch.", buckets=SECONDS, registry=registry
        )
        self.batch = Histogram(
            "permparse_batch_sentences",
            "Sentences parsed together.",
            buckets=(1, 2, 4, 8, 16, 32, 64),
            registry=registry,
        )
        self.queue = Gauge(
            "permparse_queue_sentences", "Sentences that wait.", multiprocess_mode="livesum", registry=registry
        )

    def text(self) -> bytes:
        """The figures as Prometheus reads them."""
        if not self.several_processes:
            return generate_latest(self.registry)
        registry = CollectorRegistry()
        MultiProcessCollector(registry)
        return generate_latest(registry)
