// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package sanity

import "syscall"

// ownGroup puts the driver into a process group of its own. There is no means here to let it end
// with a suite that is killed.
func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
