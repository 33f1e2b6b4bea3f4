// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package sanity

import "syscall"

// ownGroup puts the driver into its own process group. This platform cannot make the driver end when the suite is
// killed.
func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
