// SPDX-License-Identifier: Apache-2.0

// Package processtest runs processes in tests: the test binary as a second process (StartHelper) or as the command of
// the tested package (StartProgram), and command-line tools (Shell). A process ends with its test or, after BindToTest, with
// the test binary. The package also makes and checks the temporary directories that processes and their sockets need.
package processtest
