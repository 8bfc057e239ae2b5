# The service in a small image: non-root, and happy with a read-only file system.
#   docker build -t permparse .
#   docker run --read-only --tmpfs /tmp -p 8000:8000 -e PERMPARSE_TOKEN=… permparse
FROM python:3.11-slim AS build
WORKDIR /build
COPY pyproject.toml constraints.txt README.md LICENSE ./
COPY src src
# Where pip finds a CPU build of torch, if not on the default index: --build-arg PIP_EXTRA_INDEX_URL=…
ARG PIP_EXTRA_INDEX_URL
RUN python -m venv /opt/permparse \
 && /opt/permparse/bin/pip install --no-cache-dir -c constraints.txt torch==2.13.0 \
 && /opt/permparse/bin/pip install --no-cache-dir -c constraints.txt '.[serve]'
# Compile the kernels now: a container starts warm.
ENV NUMBA_CACHE_DIR=/opt/kernels
RUN /opt/permparse/bin/python -c "from permparse import Parser; from permparse.service.batcher import warm_up; \
    warm_up(Parser.load('fragment'))"

FROM python:3.11-slim
RUN useradd --system --no-create-home --uid 10001 permparse
COPY --from=build /opt/permparse /opt/permparse
COPY --from=build /opt/kernels /opt/kernels
ENV PATH=/opt/permparse/bin:$PATH NUMBA_CACHE_DIR=/tmp/kernels OMP_WAIT_POLICY=passive PYTHONDONTWRITEBYTECODE=1
USER 10001
EXPOSE 8000
HEALTHCHECK --start-period=60s CMD ["python", "-c", "from urllib.request import urlopen; urlopen('http://127.0.0.1:8000/ready')"]
# numba wants a cache that it can write to: a copy in the memory file system.
ENTRYPOINT ["sh", "-c", "cp -r /opt/kernels /tmp/kernels && exec permparse serve --host 0.0.0.0 \"$@\"", "permparse"]
CMD ["fragment"]
