// SPDX-License-Identifier: Apache-2.0

package driverkit_test

import (
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// TestDependencies keeps clouds and Kubernetes out of what every vendor builds.
func TestDependencies(t *testing.T) {
	t.Parallel()
	output, err := exec.Command("go", "list", "-deps", "./...").Output()
	if err != nil {
		t.Fatal(err)
	}
	forbidden := regexp.MustCompile(`^(.*\.)?k8s\.io/|aws|azure|cloud\.google\.com|google\.golang\.org/api|minio`)
	for dependency := range strings.Lines(string(output)) {
		if forbidden.MatchString(dependency) {
			t.Errorf("driverkit depends on %s", dependency)
		}
	}
}
