// SPDX-License-Identifier: Apache-2.0

// Package uninstall reports the objects that would be orphaned if COSI, or one driver, were uninstalled. No
// component would remove the finalizers of these objects, and their buckets and credentials would remain in
// the backend. Charts run Command before an uninstallation. It is a subcommand of cosi-controller and
// cosi-sidecar, so the charts need no additional image. The package only reads.
package uninstall
