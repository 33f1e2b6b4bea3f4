// SPDX-License-Identifier: Apache-2.0

package sanity

import "syscall"

// ownGroup puts the driver into its own process group, and makes it end with the suite even if the suite is killed.
func ownGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
