# The images of a release: a program of one file on the smallest of .NET's base images, which has neither a shell nor .NET. eng/release.sh
# builds both, in a folder that has the program (FILE) and an empty folder `state`.
FROM mcr.microsoft.com/dotnet/runtime-deps:10.0-noble-chiseled AS base
# As in the images that are made from the sources (Dockerfile): counters, traces and dumps for this user, no debuggers and profilers.
ENV DOTNET_EnableDiagnostics_Debugger=0 \
    DOTNET_EnableDiagnostics_Profiler=0
USER 1654

FROM base AS tunnel2-entry
ARG FILE
COPY $FILE /usr/bin/tunnel2-entry
# The folder and the volume that is mounted on it first are this user's.
COPY --chown=1654:1654 state /var/lib/tunnel2
ENV Tunnel2__StateFolder=/var/lib/tunnel2
WORKDIR /var/lib/tunnel2
EXPOSE 12000 12001
HEALTHCHECK --interval=5s --timeout=5s --start-period=10s --retries=3 CMD ["/usr/bin/tunnel2-entry", "health"]
ENTRYPOINT ["/usr/bin/tunnel2-entry"]

FROM base AS tunnel2
ARG FILE
COPY $FILE /usr/bin/tunnel2
# Where the agent answers `tunnel2 ready` and `tunnel2 status`: in memory, because the root file system may be read-only.
ENV XDG_RUNTIME_DIR=/dev/shm
HEALTHCHECK --interval=10s --timeout=5s --start-period=20s --retries=3 CMD ["/usr/bin/tunnel2", "ready"]
ENTRYPOINT ["/usr/bin/tunnel2"]
