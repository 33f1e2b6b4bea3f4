// SPDX-License-Identifier: Apache-2.0

// Command conformance runs the conformance suite against the drivers of this repository and writes
// docs/reference/conformance.md with the figures. With --check it compares instead.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
)

//go:generate go run . -root ../..

const page = "docs/reference/conformance.md"

func main() {
	root := flag.String("root", ".", "directory of the checkout")
	check := flag.Bool("check", false, "fail if "+page+" differs from what would be written")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, *root, *check)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "conformance:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, root string, check bool) (err error) {
	scratch, err := os.MkdirTemp("", "conformance-")
	if err != nil {
		return fmt.Errorf("make a scratch directory: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(scratch)) }()
	var outcomes []outcome
	for _, t := range targets() {
		o, err := t.run(ctx, root, filepath.Join(scratch, t.name))
		if err != nil {
			return fmt.Errorf("%s: %w", t.name, err)
		}
		if failures := o.failures(); failures != "" {
			return fmt.Errorf("%s does not conform:\n%s", t.name, failures)
		}
		outcomes = append(outcomes, o)
	}
	text := render(outcomes)
	path := filepath.Join(root, page)
	if check {
		old, err := os.ReadFile(path)
		if err != nil {
			return fmt.Errorf("read the page: %w", err)
		}
		if !bytes.Equal(old, text) {
			return fmt.Errorf("%s is out of date: run make generate", page)
		}
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil { //nolint:gosec // a directory of the checkout
		return fmt.Errorf("write the page: %w", err)
	}
	if err := os.WriteFile(path, text, 0o644); err != nil { //nolint:gosec // a page of the checkout
		return fmt.Errorf("write the page: %w", err)
	}
	return nil
}
