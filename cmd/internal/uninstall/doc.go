// SPDX-License-Identifier: Apache-2.0

// Package uninstall reports the objects that an uninstallation of COSI, or of one driver, would orphan: no
// component would remove their finalizers, and their buckets and credentials would remain. Charts run Command
// before they are uninstalled; it is a subcommand of programs whose images the cluster already has. The
// package only reads.
package uninstall
