// SPDX-License-Identifier: Apache-2.0

package sanity

import "syscall"

// ownGroup puts the driver into a process group of its own, and lets it end with the suite, also
// when that is killed.
func ownGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
