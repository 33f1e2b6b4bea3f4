// SPDX-License-Identifier: Apache-2.0

package binaries_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/cooper-cosi/cooper/testenv/controlplane/binaries"
)

// The first call on a machine without executables downloads or builds them, and reports its progress on
// standard error.
func ExampleFind() {
	paths, err := binaries.Find(context.Background(), binaries.Options{Progress: os.Stderr})
	if err != nil {
		panic(err)
	}
	fmt.Println(filepath.Base(paths.APIServer), filepath.Base(paths.Etcd))
	// Output: kube-apiserver etcd
}
