// SPDX-License-Identifier: Apache-2.0

package addedkeys

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"text/template"
	"text/template/parse"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/secretkeys"
	"github.com/cooper-cosi/cooper/internal/secretkeys/formats"
)

const (
	// claimsKey is the key of the values of all claims, by the names of the claims.
	claimsKey = "claims"
	// maxWork limits the work of the presets and templates of one access, in bytes. Work is the length of each template
	// (for each execution, and with a range for each claim), the arguments and results of functions, the data that
	// presets read, and all output. The limit also bounds the time.
	maxWork = 4 << 20
)

// builtins are the functions of text/template that a template may call. The others format or call arbitrary values.
func builtins() []string {
	return []string{"and", "or", "not", "index"}
}

// A cause is the reason for which a template fails. It contains no values.
type cause string

// Error implements error.
func (c cause) Error() string { return string(c) }

// errWork ends a template or preset that exceeds the budget.
const errWork cause = "the presets and templates of the access do too much work. Make them shorter, or request fewer keys"

// A budget limits the work of the presets and templates of one access.
type budget struct{ left int }

func (b *budget) spend(n int) error {
	if b.left -= n; b.left < 0 {
		return errWork
	}
	return nil
}

// of wraps a function of a template. The argument and the result count as work.
func (b *budget) of(f func(string) (string, error)) func(string) (string, error) {
	return func(text string) (string, error) {
		result, err := f(text)
		if err == nil {
			err = b.spend(len(text) + len(result))
		}
		return result, err
	}
}

// equal reports whether a text equals one of the others. The function eq of text/template is not used because its errors
// contain the arguments.
func (b *budget) equal(text string, others ...string) (bool, error) {
	for _, other := range others {
		if err := b.spend(len(text) + len(other)); err != nil {
			return false, err
		}
	}
	return slices.Contains(others, text), nil
}

// limited is a writer within a budget.
type limited struct {
	io.Writer

	work *budget
}

// Write implements io.Writer.
func (l limited) Write(text []byte) (int, error) {
	if err := l.work.spend(len(text)); err != nil {
		return 0, err
	}
	return l.Writer.Write(text)
}

// functions returns Cooper's functions for templates.
func functions(work *budget) template.FuncMap {
	return template.FuncMap{
		"eq":       work.equal,
		"ne":       func(text, other string) (bool, error) { same, err := work.equal(text, other); return !same, err },
		"b64enc":   work.of(func(text string) (string, error) { return base64.StdEncoding.EncodeToString([]byte(text)), nil }),
		"quote":    work.of(quote),
		"urlquery": work.of(func(text string) (string, error) { return url.QueryEscape(text), nil }),
		"urlpath":  work.of(func(text string) (string, error) { return url.PathEscape(text), nil }),
		"host":     work.of(func(text string) (string, error) { at, err := parseURL(text); return at.Host, err }),
		"scheme":   work.of(func(text string) (string, error) { at, err := parseURL(text); return at.Scheme, err }),
	}
}

// quote returns a text as a JSON string, which is also a YAML string.
func quote(text string) (string, error) {
	var quoted strings.Builder
	encoder := json.NewEncoder(&quoted)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(text); err != nil {
		return "", cause("quote: the value is not text")
	}
	return strings.TrimSuffix(quoted.String(), "\n"), nil
}

// parseURL parses a URL with a host. Its error omits the value, which may be a secret.
func parseURL(text string) (url.URL, error) {
	at, err := url.Parse(text)
	if err != nil || at.Host == "" {
		return url.URL{}, cause("the value is not a URL")
	}
	return *at, nil
}

// valuesOf returns the values of all claims by the names of the claims. Keys without a value are empty.
func valuesOf(grants []formats.Grant) map[string]map[string]string {
	claims := map[string]map[string]string{}
	for _, grant := range grants {
		claims[grant.Claim] = map[string]string{}
		for _, key := range secretkeys.Keys(cosiapi.Protocol(grant.Data[secretkeys.Protocol])) {
			claims[grant.Claim][key] = string(grant.Data[key])
		}
	}
	return claims
}

// A compiled template is bounded in time by its length, the number of claims and its budget.
type compiled struct {
	*template.Template

	length int
	// ranges means that the template repeats a part for each claim.
	ranges bool
}

func compileTemplate(text string, work *budget) (*compiled, error) {
	own := functions(work)
	t, err := template.New("template").Option("missingkey=error").Funcs(own).Parse(text)
	if err != nil {
		return nil, err //nolint:wrapcheck // it names the template and the line
	}
	if slices.ContainsFunc(t.Templates(), func(other *template.Template) bool { return other.Name() != t.Name() }) {
		return nil, errors.New("a template cannot define other templates")
	}
	in := &inspector{allowed: slices.Sorted(maps.Keys(own))}
	in.allowed = append(in.allowed, builtins()...)
	if t.Tree != nil {
		err = in.list(t.Root)
	}
	return &compiled{Template: t, length: len(text), ranges: in.ranges}, err
}

// execute renders the template for the Secret of a claim. The template sees the values of this claim, and those of all
// claims. The values are maps of strings, so the template cannot call methods.
func (c *compiled) execute(w io.Writer, claim string, claims map[string]map[string]string, work *budget) error {
	cost := c.length
	if c.ranges {
		cost *= len(claims)
	}
	if err := work.spend(cost); err != nil {
		return err
	}
	values := map[string]any{claimsKey: claims}
	for key, value := range claims[claim] {
		values[key] = value
	}
	return explain(c.Execute(limited{Writer: w, work: work}, values))
}

// position matches the beginning of an error of text/template, which contains the line.
var position = regexp.MustCompile(`^template: template:(\d+):`)

// explain removes values from an error of a template: errors of text/template can contain the arguments of a function.
func explain(err error) error {
	if err == nil {
		return nil
	}
	why, known := errors.AsType[cause](err)
	if !known {
		why = "the template uses a key that does not exist, or a value of the wrong type"
	}
	if at := position.FindStringSubmatch(err.Error()); at != nil {
		return fmt.Errorf("line %s of the template: %w", at[1], why)
	}
	return why
}

// An inspector refuses templates whose time is not bounded by their size and their output.
type inspector struct {
	allowed []string
	// ranges means that the template has a range, and ranging that the current node is in it.
	ranges, ranging bool
}

func (in *inspector) list(list *parse.ListNode) error {
	if list == nil {
		return nil
	}
	for _, node := range list.Nodes {
		if err := in.node(node); err != nil {
			return err
		}
	}
	return nil
}

func (in *inspector) node(node parse.Node) error {
	switch n := node.(type) {
	case *parse.ActionNode:
		return in.pipe(n.Pipe)
	case *parse.IfNode:
		return in.branch(&n.BranchNode)
	case *parse.WithNode:
		return in.branch(&n.BranchNode)
	case *parse.RangeNode:
		if in.ranging || !overClaims(n.Pipe) {
			return errors.New("a range must be over $.claims, and must not be in another range")
		}
		in.ranges, in.ranging = true, true
		err := in.branch(&n.BranchNode)
		in.ranging = false
		return err
	case *parse.PipeNode:
		return in.pipe(n)
	case *parse.ChainNode:
		return in.node(n.Node)
	case *parse.IdentifierNode:
		if !slices.Contains(in.allowed, n.Ident) {
			return fmt.Errorf("function %q cannot be used. The functions are %s", n.Ident, strings.Join(in.allowed, ", "))
		}
		return nil
	case *parse.TemplateNode:
		return errors.New("a template cannot call other templates")
	default: // text, constants, fields and variables
		return nil
	}
}

func (in *inspector) branch(b *parse.BranchNode) error {
	return errors.Join(in.pipe(b.Pipe), in.list(b.List), in.list(b.ElseList))
}

func (in *inspector) pipe(pipe *parse.PipeNode) error {
	if pipe == nil {
		return nil
	}
	for _, command := range pipe.Cmds {
		for _, argument := range command.Args {
			if err := in.node(argument); err != nil {
				return err
			}
		}
	}
	return nil
}

// overClaims reports whether a pipe is $.claims or .claims.
func overClaims(pipe *parse.PipeNode) bool {
	if len(pipe.Cmds) != 1 || len(pipe.Cmds[0].Args) != 1 {
		return false
	}
	switch n := pipe.Cmds[0].Args[0].(type) {
	case *parse.FieldNode:
		return slices.Equal(n.Ident, []string{claimsKey})
	case *parse.VariableNode:
		return slices.Equal(n.Ident, []string{"$", claimsKey})
	default:
		return false
	}
}
