// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package processtest

import "os/exec"

// BindToTest has no effect on this platform.
func BindToTest(*exec.Cmd) {}
