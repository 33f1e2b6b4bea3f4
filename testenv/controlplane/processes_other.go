// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package controlplane

import (
	"os/exec"
	"strconv"
	"strings"
)

// eachProcess calls f for every process of the machine, with a function that tests its executable path.
func eachProcess(f func(pid int, isProgram func(path string) bool)) error {
	list, err := exec.Command("ps", "-axww", "-o", "pid=,command=").Output()
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(list)) {
		id, command, _ := strings.Cut(strings.TrimSpace(line), " ")
		pid, err := strconv.Atoi(id)
		if err != nil {
			continue
		}
		command = strings.TrimSpace(command)
		f(pid, func(path string) bool { return command == path || strings.HasPrefix(command, path+" ") })
	}
	return nil
}
