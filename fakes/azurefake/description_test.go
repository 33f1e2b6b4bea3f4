// SPDX-License-Identifier: Apache-2.0

package azurefake_test

import (
	"go/ast"
	"go/parser"
	gotoken "go/token"
	"net/url"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// described is an operation as Microsoft's description of the API has it, from which azblob's internal/generated is made.
type described struct {
	// name is the client's and the method's, such as BlobClient.setTier.
	name, method string
	// fixed are the parameters of the query that make it this operation.
	fixed url.Values
	// query and headers are the parameters, by name. A header that ends in - is the beginning of names.
	query, headers map[string]parameter
}

// parameter is a query parameter or a header. If always is true, the client always sends it: with value, or with the
// caller's value if value is "".
type parameter struct {
	always bool
	value  string
}

// description reads how azblob makes each request.
func description(t *testing.T) []described {
	t.Helper()
	dir, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "github.com/Azure/azure-sdk-for-go/sdk/storage/azblob").Output()
	if err != nil {
		t.Fatalf("where is azblob: %v", err)
	}
	files, err := filepath.Glob(filepath.Join(strings.TrimSpace(string(dir)), "internal", "generated", "zz_*_client.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("azblob has no generated clients: %v", err)
	}
	var out []described
	for _, file := range files {
		parsed, err := parser.ParseFile(gotoken.NewFileSet(), file, nil, 0)
		wantNoError(t, err)
		for _, declaration := range parsed.Decls {
			f, ok := declaration.(*ast.FuncDecl)
			if !ok || f.Recv == nil || !strings.HasSuffix(f.Name.Name, "CreateRequest") {
				continue
			}
			d := described{fixed: url.Values{}, query: map[string]parameter{}, headers: map[string]parameter{}}
			d.name = f.Recv.List[0].Type.(*ast.StarExpr).X.(*ast.Ident).Name + "." + strings.TrimSuffix(f.Name.Name, "CreateRequest")
			if d.read(f.Body.List, true); d.method != "" { // the others call one of these
				out = append(out, d)
			}
		}
	}
	slices.SortFunc(out, func(a, b described) int { return strings.Compare(a.name, b.name) })
	return out
}

// read finds what statements set. What stands in a condition is not always set.
func (d *described) read(statements []ast.Stmt, always bool) {
	for _, s := range statements {
		switch s := s.(type) {
		case *ast.IfStmt:
			d.read(s.Body.List, false)
		case *ast.RangeStmt:
			d.read(s.Body.List, false)
		case *ast.AssignStmt:
			d.assignment(s, always)
		case *ast.ExprStmt:
			call, ok := s.X.(*ast.CallExpr)
			if ok && len(call.Args) == 2 && isSelector(call.Fun, "reqQP", "Set") {
				d.query[literal(call.Args[0])] = parameter{always, literal(call.Args[1])}
			}
		}
	}
}

func (d *described) assignment(s *ast.AssignStmt, always bool) {
	switch left := s.Lhs[0].(type) {
	case *ast.Ident:
		if call, ok := s.Rhs[0].(*ast.CallExpr); ok && isSelector(call.Fun, "runtime", "NewRequest") {
			d.method = strings.ToUpper(strings.TrimPrefix(call.Args[1].(*ast.SelectorExpr).Sel.Name, "Method"))
		}
		if left.Name == "urlPath" {
			d.fixed, _ = url.ParseQuery(strings.TrimPrefix(literal(s.Rhs[0]), "?")) // a literal of a generator
		}
	case *ast.IndexExpr:
		value := ""
		if list, ok := s.Rhs[0].(*ast.CompositeLit); ok {
			value = literal(list.Elts[0])
		}
		d.headers[strings.ToLower(literal(left.Index))] = parameter{always, value}
	}
}

func isSelector(e ast.Expr, of, name string) bool {
	s, ok := e.(*ast.SelectorExpr)
	if !ok || s.Sel.Name != name {
		return false
	}
	x, ok := s.X.(*ast.Ident)
	return ok && x.Name == of
}

// literal is the text of an expression, as far as that is known, such as the beginning of "x-ms-meta-" + key.
func literal(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.BasicLit:
		text, err := strconv.Unquote(e.Value)
		if err == nil {
			return text
		}
	case *ast.BinaryExpr:
		return literal(e.X)
	}
	return ""
}
