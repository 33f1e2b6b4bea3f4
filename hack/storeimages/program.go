// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"debug/elf"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
)

// library is a path in what ldd prints.
var library = regexp.MustCompile(`(?m)(?:=> |^\s*)(/\S+)`)

// layProgram puts a program of this machine below root, and the libraries that it
// is linked with: Node has some, and so may a store that somebody named.
func layProgram(ctx context.Context, program, root, to string) error {
	if err := copyFile(program, filepath.Join(root, to)); err != nil {
		return err
	}
	linked, err := isLinked(program)
	if err != nil || !linked {
		return err
	}
	printed, err := exec.CommandContext(ctx, "ldd", program).Output()
	if err != nil {
		return fmt.Errorf("ldd %s: %w", program, err)
	}
	for _, match := range library.FindAllStringSubmatch(string(printed), -1) {
		if err := copyFile(match[1], filepath.Join(root, match[1])); err != nil {
			return err
		}
	}
	return nil
}

// isLinked reports whether a program needs libraries: then it asks for a loader.
func isLinked(program string) (bool, error) {
	file, err := elf.Open(program)
	if err != nil {
		return false, fmt.Errorf("%s: %w", program, err)
	}
	defer file.Close()
	for _, header := range file.Progs {
		if header.Type == elf.PT_INTERP {
			return true, nil
		}
	}
	return false, nil
}
