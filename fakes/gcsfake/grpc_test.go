// SPDX-License-Identifier: Apache-2.0

package gcsfake_test

import (
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	grpcstatus "google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/cooper-cosi/cooper/fakes/faketest"
	"github.com/cooper-cosi/cooper/fakes/gcsfake"
)

// TestGRPCIsRefused calls Cloud Storage's gRPC API, as clients with STORAGE_EMULATOR_HOST_GRPC do. The first call fails
// with the reason instead of a retry.
func TestGRPCIsRefused(t *testing.T) {
	t.Parallel()
	server := faketest.Start(t, gcsfake.New, gcsfake.Options{})
	conn, err := grpc.NewClient(strings.TrimPrefix(server.URL(), "http://"), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	err = conn.Invoke(t.Context(), "/google.storage.v2.Storage/GetBucket", &emptypb.Empty{}, &emptypb.Empty{})
	if grpcstatus.Code(err) != codes.Unimplemented || !strings.Contains(grpcstatus.Convert(err).Message(), "STORAGE_EMULATOR_HOST") {
		t.Errorf("got %v, want Unimplemented with the variable to use", err)
	}
}
