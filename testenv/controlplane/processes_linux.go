// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
)

// eachProcess calls f for every process of the machine, with a function that tests its executable path.
func eachProcess(f func(pid int, isProgram func(path string) bool)) error {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return err
	}
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		// A process may exit between the two reads, and a zombie has no arguments.
		arguments, err := os.ReadFile(filepath.Join("/proc", entry.Name(), "cmdline"))
		if err != nil || len(arguments) == 0 {
			continue
		}
		called, _, _ := bytes.Cut(arguments, []byte{0})
		f(pid, func(path string) bool { return string(called) == path })
	}
	return nil
}
