// SPDX-License-Identifier: Apache-2.0

package settings_test

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/cooper-cosi/cooper/sanity/settings"
)

// Runs the suite from a separate program like cosi-sanity, with the configuration in a file.
func ExampleRead() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "sanity.yaml")
	text := `
command: [./my-driver, --data=/tmp/shelf]
parameters:
  bucket: {tier: hot}
hooks:
  makeBucket: [./shelf, add]
  removeBucket: [./shelf, remove]
`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		panic(err)
	}

	file, err := settings.Read(path)
	if err != nil {
		panic(err)
	}
	config, err := file.Config()
	if err != nil {
		panic(err)
	}
	fmt.Println("creates buckets with", config.Params.Bucket)
	fmt.Println("can create one without the driver:", config.Fixture != nil)
	// Output:
	// creates buckets with map[tier:hot]
	// can create one without the driver: true
}
