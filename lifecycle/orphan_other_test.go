// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package lifecycle

import "syscall"

// diesWithUs has no means here: a program that this process leaves behind when
// it is killed must be ended by hand.
func diesWithUs() *syscall.SysProcAttr { return nil }
