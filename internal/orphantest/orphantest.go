// SPDX-License-Identifier: Apache-2.0

// Package orphantest lets no process outlive the test binary that started it, however that ends. Only Linux can do that;
// elsewhere a test that is killed may leave processes. It must not start any.
package orphantest
