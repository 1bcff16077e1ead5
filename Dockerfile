# A fitted run as a web page:
#   docker build -t domindex .
#   docker run --rm -p 127.0.0.1:8700:8700 -v "$PWD/run:/run-folder:ro" domindex
FROM python:3.12-slim AS build
WORKDIR /source
COPY pyproject.toml README.md LICENSE constraints.txt ./
COPY src ./src
RUN python -m pip install --no-cache-dir build && python -m build --wheel --outdir /wheels

FROM python:3.12-slim
RUN useradd --create-home --uid 10001 domindex
COPY --from=build /wheels /wheels
COPY constraints.txt /wheels/constraints.txt
# torch of CPUs alone is a tenth of the one with CUDA
RUN python -m pip install --no-cache-dir --extra-index-url https://download.pytorch.org/whl/cpu \
        -c /wheels/constraints.txt "$(ls /wheels/*.whl)[serve,tables,excel]" \
    && rm -rf /wheels
USER domindex
WORKDIR /home/domindex
EXPOSE 8700
# The port is published to loopback above: who opens it to others reads docs/threats.md first.
ENTRYPOINT ["domindex", "serve", "/run-folder", "--host", "0.0.0.0", "--port", "8700"]
CMD ["--allow-host", "localhost"]
