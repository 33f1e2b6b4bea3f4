// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package lifecycle

import "syscall"

// diesWithUs is not supported on this system: a program that outlives this process must be stopped manually.
func diesWithUs() *syscall.SysProcAttr { return nil }
