// SPDX-License-Identifier: Apache-2.0

// Package uninstall reports what an uninstallation of COSI, or of one driver, would leave behind: objects whose
// finalizers no component would remove, and with them buckets and credentials. Command is the subcommand that the charts
// run before they are uninstalled; it belongs to programs whose images the cluster has. The package only reads.
package uninstall
