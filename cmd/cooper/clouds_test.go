// SPDX-License-Identifier: Apache-2.0

package main_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestS3OnlyHasNoSDKOfAnotherCloud verifies that the S3-only build, which make up compiles first, contains no
// SDK of another cloud.
func TestS3OnlyHasNoSDKOfAnotherCloud(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		tags string
		want bool
	}{
		"with the tag it has only that of S3": {tags: "s3only", want: false},
		"without the tag it has all":          {tags: "", want: true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			command := exec.CommandContext(t.Context(), "go", "list", "-deps", "-tags", tc.tags, ".")
			command.Env = append(os.Environ(), "CGO_ENABLED=0")
			out, err := command.Output()
			if err != nil {
				t.Fatalf("go list: %v\n%s", err, stderrOf(err))
			}
			if !strings.Contains(string(out), "github.com/aws/aws-sdk-go-v2/service/s3\n") {
				t.Error("cooper lacks the SDK of S3")
			}
			for _, sdk := range []string{"github.com/Azure/azure-sdk-for-go/", "google.golang.org/api/", "github.com/apache/arrow-go/"} {
				if has := strings.Contains(string(out), "\n"+sdk); has != tc.want {
					t.Errorf("cooper has %s: %v, want %v", sdk, has, tc.want)
				}
			}
		})
	}
}
