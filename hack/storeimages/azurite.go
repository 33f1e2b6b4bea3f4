// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// azuriteVersion is what hack/azurite.sh installs.
const azuriteVersion = "3.37.0"

// azuriteProgram stands for the link that npm would make, and names the program
// without a shell.
const azuriteProgram = `#!/bin/node
require("/app/node_modules/azurite/dist/src/blob/main.js");
`

// layAzurite puts Node, the libraries that it is linked with, and Azurite together.
func layAzurite(ctx context.Context, root string) error {
	install := exec.CommandContext(ctx, "bash", "hack/azurite.sh")
	install.Stderr = os.Stderr
	if err := install.Run(); err != nil {
		return fmt.Errorf("install Azurite: %w", err)
	}
	if err := layNode(ctx, root); err != nil {
		return err
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return fmt.Errorf("cannot tell where Azurite is: %w", err)
	}
	if err := os.CopyFS(filepath.Join(root, "app", "node_modules"), os.DirFS(filepath.Join(cache, "cooper", "stores", "azurite", "node_modules"))); err != nil {
		return fmt.Errorf("copy Azurite: %w", err)
	}
	return os.WriteFile(filepath.Join(root, "bin", "azurite-blob"), []byte(azuriteProgram), 0o755) //nolint:gosec // a program
}

func layNode(ctx context.Context, root string) error {
	node, err := exec.LookPath("node")
	if err != nil {
		return fmt.Errorf("%w (%w)", errNoNode, err)
	}
	if node, err = filepath.EvalSymlinks(node); err != nil {
		return fmt.Errorf("node: %w", err)
	}
	return layProgram(ctx, node, root, "bin/node")
}
