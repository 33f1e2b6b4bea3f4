// SPDX-License-Identifier: Apache-2.0

// Package processtest runs processes in tests: the test binary as a second process (StartHelper) or as the command
// under test (StartProgram), and command-line tools (Shell). StartHelper and StartProgram kill their process when the
// test ends. On Linux, BindToTest has the kernel kill a process when the test binary ends. The package also creates and
// checks the temporary directories that processes and their sockets need.
package processtest
