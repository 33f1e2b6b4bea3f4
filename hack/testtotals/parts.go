// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"
)

// restPart holds the packages that no part names.
const restPart = "unit"

// part is a group of packages that is reported on a line of its own.
type part struct {
	name string
	dirs []string // relative to the module, such as "controller"
}

// parseParts reads flags of the shape name=dir[,dir...].
func parseParts(flags []string) ([]part, error) {
	parts := make([]part, 0, len(flags))
	for _, flag := range flags {
		name, dirs, ok := strings.Cut(flag, "=")
		if !ok || name == "" || dirs == "" {
			return nil, fmt.Errorf("--part %q: want name=dir[,dir...]", flag)
		}
		parts = append(parts, part{name: name, dirs: strings.Split(dirs, ",")})
	}
	return parts, nil
}

// partOf returns the name of the first part that a package belongs to.
func partOf(parts []part, path string) string {
	for _, p := range parts {
		for _, dir := range p.dirs {
			if strings.Contains(path+"/", "/"+dir+"/") {
				return p.name
			}
		}
	}
	return restPart
}
