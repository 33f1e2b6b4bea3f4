# Builds the images from source where a registry has the image of Go, for `docker
# compose build`. `make images` builds the same ones without a registry.
#
# All run as user 65532 and need no file system that they may write but for
# their state (volumes) and /tmp.

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

FROM scratch AS source-cosi-obc
COPY --from=build /src/dist/images/cosi-obc/root/ /
COPY --from=build --chown=65532:65532 /src/dist/images/cosi-obc/state/ /
USER 65532:65532
ENTRYPOINT ["/cosi-obc"]

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

FROM scratch AS source-cosi-driver-static
COPY --from=build /src/dist/images/cosi-driver-static/root/ /
COPY --from=build --chown=65532:65532 /src/dist/images/cosi-driver-static/state/ /
USER 65532:65532
ENTRYPOINT ["/cosi-driver-static"]

FROM scratch AS source-cosi-driver-adapter
COPY --from=build /src/dist/images/cosi-driver-adapter/root/ /
COPY --from=build --chown=65532:65532 /src/dist/images/cosi-driver-adapter/state/ /
USER 65532:65532
ENTRYPOINT ["/cosi-driver-adapter"]

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
