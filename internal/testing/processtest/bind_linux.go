// SPDX-License-Identifier: Apache-2.0

package processtest

import (
	"os/exec"
	"syscall"
)

// BindToTest has the process of a command, which is not started yet, killed when the test binary ends.
func BindToTest(command *exec.Cmd) {
	if command.SysProcAttr == nil {
		command.SysProcAttr = &syscall.SysProcAttr{}
	}
	command.SysProcAttr.Pdeathsig = syscall.SIGKILL
}
