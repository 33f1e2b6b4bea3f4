// SPDX-License-Identifier: Apache-2.0

// Package docstest tests pages of the documentation. ParseBlocks and Script turn the fenced code blocks of a page into
// one shell script, so that a test can run what a reader would paste: each block is run, is output, or has a reason why
// it is not run. CurrentPage compares a page with what tests found, or writes the page.
package docstest
