// SPDX-License-Identifier: Apache-2.0

package lifecycle

import "syscall"

// diesWithUs makes a program end with this process, even after SIGKILL.
func diesWithUs() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
