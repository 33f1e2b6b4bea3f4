// SPDX-License-Identifier: Apache-2.0

// Command controlplane builds the API server and its companions for the tests,
// if they are not in the user's cache yet, and prints where they are. The tests
// would build them too; done before, it costs no test its deadline.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"

	"github.com/cooper-cosi/cooper/testenv/controlplane"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	binaries, err := controlplane.FindBinaries(ctx, controlplane.BinaryOptions{
		Progress: func(line string) { fmt.Fprintln(os.Stderr, line) },
	})
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "controlplane:", err)
		os.Exit(1)
	}
	fmt.Println("control plane:", filepath.Dir(binaries.APIServer))
}
