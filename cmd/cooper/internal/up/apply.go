// SPDX-License-Identifier: Apache-2.0

package up

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"time"

	"github.com/cooper-cosi/cooper/cmd/cooper/internal/sample"
	"github.com/cooper-cosi/cooper/internal/shellenv"
)

// ApplyOptions select what to apply to a remote system.
type ApplyOptions struct {
	// Kubeconfig is the kubeconfig file of its API server.
	Kubeconfig string
	// Manifests, Namespace and SampleTimeout are as in Options.
	Manifests     fs.FS
	Namespace     string
	SampleTimeout time.Duration
	// Out receives the environment of each granted credential, Progress a line for each pending object.
	Out, Progress io.Writer
}

// Apply applies manifests, waits until their claims and accesses are provisioned, and prints the keys of each
// access Secret as shell variables.
func Apply(ctx context.Context, o ApplyOptions) error {
	documents, err := sample.Read(o.Manifests)
	if err != nil {
		return err
	}
	c, err := clientOf(o.Kubeconfig)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, o.SampleTimeout, fmt.Errorf("timed out after %s (--timeout)", o.SampleTimeout))
	defer cancel()
	if err := sample.Apply(ctx, c, o.Namespace, documents); err != nil {
		return err
	}
	report := func(line string) { fmt.Fprintf(o.Progress, "cooper: %s\n", line) }
	if err := sample.Wait(ctx, c, documents, report); err != nil {
		return err
	}
	for _, key := range accessSecrets(documents) {
		variables := map[string]string{}
		if err := sample.Answered(ctx, func() error { return addSecret(ctx, c, key, variables) }); err != nil {
			return err
		}
		fmt.Fprintf(o.Out, "# Secret %s\n", key)
		if err := shellenv.Write(o.Out, variables); err != nil {
			return err
		}
	}
	return nil
}
