// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/ext"
)

// maxExpression is the maximum length of a condition in bytes. maxCost limits the cost of its evaluation.
const (
	maxExpression = 12 << 10
	maxCost       = 100_000
)

// environment contains the variables and functions of IAM conditions that are available for Cloud Storage resources
// ("Attribute reference for IAM Conditions").
var environment = sync.OnceValues(func() (*cel.Env, error) {
	return cel.NewEnv(
		cel.Variable("resource", cel.MapType(cel.StringType, cel.StringType)),
		cel.Variable("request", cel.MapType(cel.StringType, cel.TimestampType)),
		cel.Variable("api", cel.MapType(cel.StringType, cel.StringType)),
		ext.Strings(),
		cel.Function("extract", cel.MemberOverload("string_extract", []*cel.Type{cel.StringType, cel.StringType}, cel.StringType, cel.BinaryBinding(extract))),
		cel.Function("getAttribute", cel.MemberOverload("api_get_attribute",
			[]*cel.Type{cel.MapType(cel.StringType, cel.StringType), cel.StringType, cel.StringType}, cel.StringType, cel.FunctionBinding(attribute))),
	)
})

// extract implements extract("prefix{name}suffix"): it returns the text between prefix and suffix, or "" if they do
// not occur.
func extract(value, template ref.Val) ref.Val {
	v, _ := value.Value().(string)
	t, _ := template.Value().(string)
	before, rest, ok := strings.Cut(t, "{")
	_, after, closed := strings.Cut(rest, "}")
	if !ok || !closed {
		return types.NewErr("extract: the template %q has no {name}", t)
	}
	_, found, ok := strings.Cut(v, before)
	if !ok {
		return types.String("")
	}
	if after == "" {
		return types.String(found)
	}
	found, _, ok = strings.Cut(found, after)
	if !ok {
		return types.String("")
	}
	return types.String(found)
}

func attribute(args ...ref.Val) ref.Val {
	attributes, _ := args[0].Value().(map[string]string)
	name, _ := args[1].Value().(string)
	if v, ok := attributes[name]; ok {
		return types.String(v)
	}
	return args[2]
}

// programs are compiled expressions: policies are evaluated far more often than they are set.
type programs struct {
	mu    sync.Mutex
	known map[string]cel.Program
}

// maxPrograms bounds the compiled expressions that are kept.
const maxPrograms = 1000

var compiled = programs{known: map[string]cel.Program{}}

func (p *programs) get(expression string) (cel.Program, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if prg := p.known[expression]; prg != nil {
		return prg, nil
	}
	env, err := environment()
	if err != nil {
		return nil, fmt.Errorf("create the environment of conditions: %w", err)
	}
	ast, issues := env.Compile(expression)
	if err := issues.Err(); err != nil {
		return nil, fmt.Errorf("compile the condition: %w", err)
	}
	if ast.OutputType() != cel.BoolType {
		return nil, fmt.Errorf("the condition is a %s, not a bool", ast.OutputType())
	}
	prg, err := env.Program(ast, cel.CostLimit(maxCost))
	if err != nil {
		return nil, fmt.Errorf("compile the condition: %w", err)
	}
	if len(p.known) >= maxPrograms {
		clear(p.known)
	}
	p.known[expression] = prg
	return prg, nil
}

// Validate returns an error if the condition is not valid.
func (c *Condition) Validate() error {
	if len(c.Expression) > maxExpression {
		return fmt.Errorf("the condition has %d bytes, but at most %d are allowed", len(c.Expression), maxExpression)
	}
	_, err := compiled.get(c.Expression)
	return err
}

// holds evaluates a condition. If the evaluation fails, the condition does not hold.
func holds(expression string, on Resource, now time.Time) bool {
	prg, err := compiled.get(expression)
	if err != nil {
		return false
	}
	attributes := map[string]string{}
	if on.ListPrefix != "" {
		attributes["storage.googleapis.com/objectListPrefix"] = on.ListPrefix
	}
	out, _, err := prg.Eval(map[string]any{
		"resource": map[string]string{"name": on.Name, "type": on.Type, "service": on.Service},
		"request":  map[string]time.Time{"time": now},
		"api":      attributes,
	})
	if err != nil {
		return false
	}
	result, ok := out.Value().(bool)
	return ok && result
}
