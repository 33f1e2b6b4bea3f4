// SPDX-License-Identifier: Apache-2.0

package containers_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cooper-cosi/cooper/e2e/containers"
	"github.com/cooper-cosi/cooper/internal/testing/fulltest"
)

// TestPeerModulesForNode starts Cooper's image with each module for Node. The cloud's client for Node then uses the
// container with the connection data that the module returns.
func TestPeerModulesForNode(t *testing.T) {
	t.Parallel()
	fulltest.Only(t, "TestPeers in cmd/cooper")
	image := containers.Name(t, containers.Ours("cooper"))
	node, err := findNode(t.Context())
	if err != nil {
		if os.Getenv("COOPER_REQUIRE_STORES") != "" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	for name, script := range map[string]string{"Azurite": "azurite.js", "fake-gcs-server": "gcloud.js"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			session := containers.Session(t) + "-" + script
			containers.Guard(t, containers.Label+"="+session) // if the script fails or is killed
			// Ryuk is unnecessary with a guard, and its image may be missing.
			environment := []string{"NODE_PATH=" + node.path, "TESTCONTAINERS_RYUK_DISABLED=true", "TMPDIR=" + t.TempDir()}
			file := filepath.Join("e2e", "containers", "testdata", script)
			if _, err := run(t.Context(), environment, node.program, file, image, containers.Label, session); err != nil {
				t.Fatal(err)
			}
			if left := containers.Left(t, session); len(left) > 0 {
				t.Errorf("after the module stopped the container: %q left", left)
			}
		})
	}
}

// A nodeProgram is a Node that finds the modules of testcontainers and the clients of the clouds.
type nodeProgram struct {
	program string
	// path is the value of NODE_PATH.
	path string
}

// findNode installs the modules and clients if they are not in the user's cache.
func findNode(ctx context.Context) (nodeProgram, error) {
	program, err := exec.LookPath("node")
	if err != nil {
		return nodeProgram{}, fmt.Errorf("find Node: %w; install Node.js and npm", err)
	}
	var directories []string
	for _, set := range []string{"testcontainers", "clients"} {
		out, err := run(ctx, nil, "bash", "hack/npm.sh", set)
		if err != nil {
			return nodeProgram{}, fmt.Errorf("install modules for Node: %w", err)
		}
		directories = append(directories, strings.TrimSpace(out))
	}
	// The modules include a Node if the installed one is too old for them.
	newer := filepath.Join(directories[0], ".bin", "node")
	if _, err := os.Stat(newer); err == nil {
		program = newer
	}
	return nodeProgram{program: program, path: strings.Join(directories, string(os.PathListSeparator))}, nil
}
