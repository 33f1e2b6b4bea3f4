// SPDX-License-Identifier: Apache-2.0

// Command crosscheck type-checks every package of the given modules, including tests, for another platform. For
// example, the following command checks two modules for macOS:
//
//	go -C tools/crosscheck run . darwin/arm64 "$PWD" "$PWD/e2e"
//
// go vet would first compile all imports, which takes minutes. This command reads only the declarations of imports.
package main

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"strings"

	"golang.org/x/tools/go/packages"
)

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "usage: crosscheck GOOS/GOARCH DIRECTORY...")
		os.Exit(2)
	}
	var err error
	for _, root := range os.Args[2:] {
		err = errors.Join(err, check(root, os.Args[1]))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// check type-checks the module in the directory root, an absolute path, for a platform.
func check(root, platform string) error {
	system, arch, _ := strings.Cut(platform, "/")
	config := &packages.Config{
		Mode:  packages.LoadAllSyntax &^ packages.NeedTypesInfo,
		Dir:   root,
		Env:   append(os.Environ(), "GOOS="+system, "GOARCH="+arch, "CGO_ENABLED=0"),
		Tests: true,
		ParseFile: func(files *token.FileSet, name string, text []byte) (*ast.File, error) {
			file, err := parser.ParseFile(files, name, text, parser.SkipObjectResolution)
			if file != nil && !strings.HasPrefix(name, root+"/") {
				declarations(file)
			}
			return file, err
		},
	}
	all, err := packages.Load(config, "./...")
	if err != nil {
		return fmt.Errorf("load the packages for %s: %w", platform, err)
	}
	var errs []error
	seen := map[string]bool{} // a package is listed again with its tests
	for _, p := range all {
		if strings.HasSuffix(p.ID, ".test") {
			continue // the generated main function of a test
		}
		for _, e := range p.Errors {
			if !seen[e.Error()] {
				seen[e.Error()] = true
				errs = append(errs, fmt.Errorf("%s: %w", platform, e))
			}
		}
	}
	return errors.Join(errs...)
}

// declarations removes everything from a file that other packages cannot see.
func declarations(file *ast.File) {
	for _, d := range file.Decls {
		if function, ok := d.(*ast.FuncDecl); ok {
			function.Body = nil
		}
	}
}
