// SPDX-License-Identifier: Apache-2.0

package sanity

import (
	"bytes"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	cosi "github.com/cooper-cosi/cooper/proto"
)

// TestJournalKeepsWhatARunningCallMayCreate deletes a bucket while its creation is running. If the run is killed before
// the creation responds, the sweep must still find the bucket in the journal.
func TestJournalKeepsWhatARunningCallMayCreate(t *testing.T) {
	t.Parallel()
	var book bytes.Buffer
	c := newC(t.Context(), &suite{book: &journal{out: &book}, traffic: newTraffic()}, Case{ID: "BKT-DEL-010"})
	create, remove := &cosi.DriverCreateBucketRequest{BucketId: "b"}, &cosi.DriverDeleteBucketRequest{BucketId: "b"}
	if err := c.journal(create, false); err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		completed proto.Message
		response  proto.Message
		want      int
	}{
		{remove, &cosi.DriverDeleteBucketResponse{}, 1},
		{create, &cosi.DriverCreateBucketResponse{}, 1},
		{remove, &cosi.DriverDeleteBucketResponse{}, 0},
	} {
		c.record(exchange{request: step.completed, response: step.response, status: status.New(codes.OK, "")})
		notes, err := readJournal(bytes.NewReader(book.Bytes()))
		if err != nil || len(notes) != step.want {
			t.Errorf("after the response %T, the journal contains %d resources, %v; want %d", step.response, len(notes), err, step.want)
		}
	}
}
