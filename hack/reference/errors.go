// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/cooper-cosi/cooper/internal/reasons"
)

// commandSources are the directories with errors that users see on the command line, with the command's name
// on the page.
var commandSources = []struct{ directory, command string }{
	{"cmd/kubectl-cosi", "kubectl cosi"},
	{"cmd/cooper", "cooper"},
	{"cmd/internal/crds", "cooper"},
	{"internal/secretkeys/formats", "kubectl cosi"},
	{"internal/shellenv", "both"},
	{"cmd/internal/tree", "both"},
}

// commandErrors returns the error messages in the sources. Errors that wrap another one are included only if
// they have an explanation.
func commandErrors(root string) ([]refusal, error) {
	explained := map[string]bool{}
	for _, text := range reasons.Errors() {
		explained[text.Reason] = true
	}
	said := map[string]bool{}
	var all []refusal
	for _, from := range commandSources {
		err := filepath.WalkDir(filepath.Join(root, from.directory), func(path string, _ fs.DirEntry, err error) error {
			if err != nil || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
				return err
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			if err != nil {
				return fmt.Errorf("find errors: %w", err)
			}
			ast.Inspect(file, func(node ast.Node) bool {
				message, wraps := errorOf(node)
				if said[message] || !strings.ContainsFunc(message, isLetter) || wraps && !explained[message] {
					return true
				}
				said[message] = true
				all = append(all, refusal{by: from.command, message: message})
				return true
			})
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	slices.SortStableFunc(all, func(a, b refusal) int { return strings.Compare(a.message, b.message) })
	return all, nil
}

func isLetter(r rune) bool { return r >= 'a' && r <= 'z' }

// verb matches a verb of package fmt.
var verb = regexp.MustCompile(`%[#+]?(\[\d+\])?[a-zA-Z]`)

// errorOf returns the message of an error that a call creates, without fmt's verbs, and whether it wraps
// another error. The message is empty for any other node.
func errorOf(node ast.Node) (message string, wraps bool) {
	call, ok := node.(*ast.CallExpr)
	if !ok || len(call.Args) == 0 {
		return "", false
	}
	called := ""
	switch f := call.Fun.(type) {
	case *ast.Ident:
		called = f.Name
	case *ast.SelectorExpr:
		if of, ok := f.X.(*ast.Ident); ok {
			called = of.Name + "." + f.Sel.Name
		}
	}
	if !slices.Contains([]string{"errors.New", "fmt.Errorf", "plugin.Usagef", "serve.Usagef"}, called) {
		return "", false
	}
	format := textOf(call.Args[0])
	return verb.ReplaceAllString(format, reasons.Elided), strings.Contains(format, "%w")
}

// textOf returns the constant parts of a string expression.
func textOf(expression ast.Expr) string {
	switch e := expression.(type) {
	case *ast.BasicLit:
		if text, err := strconv.Unquote(e.Value); err == nil && e.Kind == token.STRING {
			return text
		}
	case *ast.BinaryExpr:
		return textOf(e.X) + textOf(e.Y)
	}
	return reasons.Elided
}
