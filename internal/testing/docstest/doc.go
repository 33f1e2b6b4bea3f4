// SPDX-License-Identifier: Apache-2.0

// Package docstest tests pages of the documentation. ParseBlocks and Script convert the fenced code blocks of a page to
// one shell script, so that a test can run the commands that a reader would paste. Each block is a command to run, the
// output of a command, or marked with the reason why it is not run. CurrentPage compares a page with the results of
// tests or, if COOPER_UPDATE is set, writes the page.
package docstest
