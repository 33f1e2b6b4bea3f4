// SPDX-License-Identifier: Apache-2.0

package processtest

import (
	"os/exec"
	"syscall"
)

// BindToTest has the kernel kill the process of a command when the test binary ends. Call it before the command
// starts.
func BindToTest(command *exec.Cmd) {
	if command.SysProcAttr == nil {
		command.SysProcAttr = &syscall.SysProcAttr{}
	}
	command.SysProcAttr.Pdeathsig = syscall.SIGKILL
}
