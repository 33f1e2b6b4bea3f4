// SPDX-License-Identifier: Apache-2.0

package s3fake_test

import (
	"strings"
	"testing"
)

// TestServiceLinkedRoles checks that no service gets a role. The errors for services without such roles were recorded.
func TestServiceLinkedRoles(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for name, tc := range map[string]struct {
		parameters []string
		status     int
		says       string
	}{
		"a service without such roles":     {[]string{"AWSServiceName=s3.amazonaws.com"}, 400, "<Code>InvalidInput</Code><Message>Cannot find Service Linked Role template for s3.amazonaws.com</Message>"},
		"a suffix where none is allowed":   {[]string{"AWSServiceName=batch.amazonaws.com", "CustomSuffix=a"}, 400, "<Code>InvalidInput</Code><Message>Custom suffix is not allowed for batch.amazonaws.com</Message>"},
		"a service that the fake lacks":    {[]string{"AWSServiceName=batch.amazonaws.com"}, 501, "batch.amazonaws.com is not supported by this fake"},
		"a suffix for a service like that": {[]string{"AWSServiceName=connect.amazonaws.com", "CustomSuffix=a"}, 501, "connect.amazonaws.com is not supported by this fake"},
		"no service":                       {nil, 400, "ValidationError"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := w.send(t, w.Root(), query("CreateServiceLinkedRole", tc.parameters...))
			if got.Code != tc.status || !strings.Contains(got.Body.String(), tc.says) {
				t.Errorf("got %d, want %d with %q\n%s", got.Code, tc.status, tc.says, got.Body)
			}
		})
	}
}
