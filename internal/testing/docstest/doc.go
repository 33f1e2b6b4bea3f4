// SPDX-License-Identifier: Apache-2.0

// Package docstest tests pages of the documentation. ParseBlocks and Script convert the fenced code blocks of a page
// to one shell script, so that a test can run the commands that a reader would paste. Every block is either run, or is
// output, or has a reason why it is not run. CurrentPage compares a page with the results of tests, or writes the
// page.
package docstest
