# One target per image. Those up to the line take files that are built already,
# which `make images` lays out, and pull nothing. Those below it build from
# source where a registry answers; `docker compose build` uses them.
#
# Docker's classic builder also makes every target above the one that is asked
# for. Above the line it then finds no root and no state, and takes the LICENSE,
# so that there is something to copy: a pattern may match nothing, a name may not.
#
# All run as user 65532 and need no file system that they may write but for
# their state (volumes) and /tmp.

FROM scratch AS cosi-controller
COPY [r]oot [L]ICENSE /
COPY --chown=65532:65532 [s]tate [L]ICENSE /
USER 65532:65532
ENTRYPOINT ["/cosi-controller"]

FROM scratch AS cosi-sidecar
COPY [r]oot [L]ICENSE /
COPY --chown=65532:65532 [s]tate [L]ICENSE /
USER 65532:65532
ENTRYPOINT ["/cosi-sidecar"]

FROM scratch AS cosi-driver-s3
COPY [r]oot [L]ICENSE /
COPY --chown=65532:65532 [s]tate [L]ICENSE /
USER 65532:65532
ENTRYPOINT ["/cosi-driver-s3"]

FROM scratch AS cosi-driver-azure
COPY [r]oot [L]ICENSE /
COPY --chown=65532:65532 [s]tate [L]ICENSE /
USER 65532:65532
ENTRYPOINT ["/cosi-driver-azure"]

FROM scratch AS cosi-driver-gcs
COPY [r]oot [L]ICENSE /
COPY --chown=65532:65532 [s]tate [L]ICENSE /
USER 65532:65532
ENTRYPOINT ["/cosi-driver-gcs"]

FROM scratch AS cooper
COPY [r]oot [L]ICENSE /
COPY --chown=65532:65532 [s]tate [L]ICENSE /
USER 65532:65532
ENTRYPOINT ["/cooper"]

FROM scratch AS cosi-sanity
COPY [r]oot [L]ICENSE /
COPY --chown=65532:65532 [s]tate [L]ICENSE /
USER 65532:65532
ENTRYPOINT ["/cosi-sanity"]

FROM scratch AS control-plane
COPY [r]oot [L]ICENSE /
COPY --chown=65532:65532 [s]tate [L]ICENSE /
USER 65532:65532
ENV PATH=/usr/local/bin KUBEBUILDER_ASSETS=/usr/local/bin KUBECONFIG=/kube/admin.kubeconfig
ENTRYPOINT ["/cooper"]
CMD ["control-plane"]

# ------------------------------------------------------------------------------

FROM golang:1.26 AS build
# Where Go modules come from, if not from where Go looks by itself.
ARG GOPROXY
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
RUN go run ./hack/images -stage && go clean -cache -modcache

FROM scratch AS source-cosi-controller
COPY --from=build /src/dist/images/cosi-controller/root/ /
COPY --from=build --chown=65532:65532 /src/dist/images/cosi-controller/state/ /
USER 65532:65532
ENTRYPOINT ["/cosi-controller"]

FROM scratch AS source-cosi-sidecar
COPY --from=build /src/dist/images/cosi-sidecar/root/ /
COPY --from=build --chown=65532:65532 /src/dist/images/cosi-sidecar/state/ /
USER 65532:65532
ENTRYPOINT ["/cosi-sidecar"]

FROM scratch AS source-cosi-driver-s3
COPY --from=build /src/dist/images/cosi-driver-s3/root/ /
COPY --from=build --chown=65532:65532 /src/dist/images/cosi-driver-s3/state/ /
USER 65532:65532
ENTRYPOINT ["/cosi-driver-s3"]

FROM scratch AS source-cosi-driver-azure
COPY --from=build /src/dist/images/cosi-driver-azure/root/ /
COPY --from=build --chown=65532:65532 /src/dist/images/cosi-driver-azure/state/ /
USER 65532:65532
ENTRYPOINT ["/cosi-driver-azure"]

FROM scratch AS source-cosi-driver-gcs
COPY --from=build /src/dist/images/cosi-driver-gcs/root/ /
COPY --from=build --chown=65532:65532 /src/dist/images/cosi-driver-gcs/state/ /
USER 65532:65532
ENTRYPOINT ["/cosi-driver-gcs"]

FROM scratch AS source-cooper
COPY --from=build /src/dist/images/cooper/root/ /
COPY --from=build --chown=65532:65532 /src/dist/images/cooper/state/ /
USER 65532:65532
ENTRYPOINT ["/cooper"]

FROM scratch AS source-cosi-sanity
COPY --from=build /src/dist/images/cosi-sanity/root/ /
COPY --from=build --chown=65532:65532 /src/dist/images/cosi-sanity/state/ /
USER 65532:65532
ENTRYPOINT ["/cosi-sanity"]

FROM scratch AS source-control-plane
COPY --from=build /src/dist/images/control-plane/root/ /
COPY --from=build --chown=65532:65532 /src/dist/images/control-plane/state/ /
USER 65532:65532
ENV PATH=/usr/local/bin KUBEBUILDER_ASSETS=/usr/local/bin KUBECONFIG=/kube/admin.kubeconfig
ENTRYPOINT ["/cooper"]
CMD ["control-plane"]
