// SPDX-License-Identifier: Apache-2.0

package referencetest

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/cooper-cosi/cooper/drivers/driverkit"
	"github.com/cooper-cosi/cooper/drivers/settings"
)

// Document is the input for the reference of one driver.
type Document struct {
	// Name is part of the names of the driver's package and command: NAMEdriver and cosi-driver-NAME.
	Name string
	// Title is the backend's name in text.
	Title string
	// Config is the type of the configuration, declared in the driver's package.
	Config reflect.Type
	// Enums lists the values of enumerated types.
	Enums map[reflect.Type][]string
	// Variables configure a driver with one backend.
	Variables []Variable
	// BucketParameters and AccessParameters are the parameters of the classes.
	BucketParameters, AccessParameters driverkit.Parameters
}

// Variable is an environment variable and its description.
type Variable struct{ Name, Description string }

// Variables returns the variables of a configuration format.
func Variables[C, B any](format settings.Format[C, B]) []Variable {
	var variables []Variable
	for _, one := range format.Variables {
		variables = append(variables, Variable{one.Name, one.Description})
	}
	return variables
}

// field is one field of the configuration file.
type field struct {
	name, description string
	// required means that the field must be set because it has no default.
	required bool
	schema   map[string]any
	fields   []field
}

// files generates the reference from the driver's source directory. It returns file contents by file name.
func (d Document) files(source string) (map[string][]byte, error) {
	comments, err := readComments(source)
	if err != nil {
		return nil, err
	}
	fields := d.describe(d.Config, comments)
	if err := described(fields, ""); err != nil {
		return nil, err
	}
	schema := object(fields)
	schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	schema["title"] = "Configuration of cosi-driver-" + d.Name
	encoded, err := json.MarshalIndent(schema, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("encode the schema: %w", err)
	}
	return map[string][]byte{
		d.Name + "-driver.schema.json": append(encoded, '\n'),
		d.Name + "-driver.md":          []byte(d.page(fields)),
	}, nil
}

// described returns an error if a field has no description.
func described(fields []field, path string) error {
	for _, one := range fields {
		if one.description == "" {
			return fmt.Errorf("%s%s has no comment", path, one.name)
		}
		if err := described(one.fields, path+one.name+"."); err != nil {
			return err
		}
	}
	return nil
}

// readComments returns the comments of all struct fields of a package, by type and field name.
func readComments(directory string) (map[string]string, error) {
	files, err := filepath.Glob(filepath.Join(directory, "*.go"))
	if err != nil {
		return nil, fmt.Errorf("find the configuration types: %w", err)
	}
	comments := map[string]string{}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments)
		if err != nil {
			return nil, fmt.Errorf("read the configuration types: %w", err)
		}
		collect(parsed, comments)
	}
	return comments, nil
}

func collect(parsed *ast.File, comments map[string]string) {
	ast.Inspect(parsed, func(node ast.Node) bool {
		declared, ok := node.(*ast.TypeSpec)
		if !ok {
			return true
		}
		if structure, ok := declared.Type.(*ast.StructType); ok {
			for _, member := range structure.Fields.List {
				for _, name := range member.Names {
					comments[declared.Name.Name+"."+name.Name] = strings.Join(strings.Fields(member.Doc.Text()), " ")
				}
			}
		}
		return true
	})
}

// describe returns the fields of a type that a configuration file can set.
func (d Document) describe(kind reflect.Type, comments map[string]string) []field {
	var fields []field
	for member := range kind.Fields() {
		name, options, _ := strings.Cut(member.Tag.Get("json"), ",")
		if name == "-" {
			continue
		}
		described := field{name: name, description: comments[kind.Name()+"."+member.Name], required: options == ""}
		switch member.Type.Kind() {
		case reflect.Map:
			described.fields = d.describe(member.Type.Elem(), comments)
			described.schema = map[string]any{"type": "object", "additionalProperties": object(described.fields)}
			described.name += ".<name>"
		case reflect.Struct:
			described.fields = d.describe(member.Type, comments)
			described.schema = object(described.fields)
		case reflect.Slice:
			items := map[string]any{"type": "string"}
			if member.Type.Elem().Kind() == reflect.Struct {
				described.fields = d.describe(member.Type.Elem(), comments)
				described.name, items = described.name+"[]", object(described.fields)
			}
			described.schema = map[string]any{"type": "array", "items": items}
		case reflect.Bool:
			described.schema = map[string]any{"type": "boolean"}
		default:
			described.schema = map[string]any{"type": "string"}
		}
		if values, known := d.Enums[member.Type]; known {
			described.schema["enum"] = values
		}
		described.schema["description"] = described.description
		fields = append(fields, described)
	}
	return fields
}

func object(fields []field) map[string]any {
	properties := map[string]any{}
	var required []string
	for _, one := range fields {
		name := strings.TrimSuffix(strings.TrimSuffix(one.name, ".<name>"), "[]")
		properties[name] = one.schema
		if one.required {
			required = append(required, name)
		}
	}
	described := map[string]any{"type": "object", "additionalProperties": false, "properties": properties}
	if len(required) > 0 {
		described["required"] = required
	}
	return described
}

func (d Document) page(fields []field) string {
	var text strings.Builder
	fmt.Fprintf(&text, "# %s driver: configuration\n\nThis page is generated from the code of drivers/%sdriver by `go generate ./drivers/%sdriver`.\n\n", d.Title, d.Name, d.Name)
	fmt.Fprintf(&text, "## Configuration file\n\nThe flag `--config` sets the path of this file. JSON schema: [%[1]s-driver.schema.json](%[1]s-driver.schema.json).\n\n| field | meaning |\n|---|---|\n", d.Name)
	rows(&text, "", fields)
	text.WriteString("\n## Environment variables\n\nThey configure a driver with one backend, if there is no configuration file.\n\n| variable | meaning |\n|---|---|\n")
	for _, variable := range d.Variables {
		fmt.Fprintf(&text, "| `%s` | %s |\n", variable.Name, prose(variable.Description))
	}
	text.WriteString("\n## Parameters of a BucketClass\n\n")
	parameters(&text, d.BucketParameters)
	text.WriteString("\n## Parameters of a BucketAccessClass\n\n")
	parameters(&text, d.AccessParameters)
	return text.String()
}

func rows(text *strings.Builder, prefix string, fields []field) {
	for _, one := range fields {
		fmt.Fprintf(text, "| `%s%s` | %s |\n", prefix, one.name, prose(one.description))
		rows(text, prefix+one.name+".", one.fields)
	}
}

func parameters(text *strings.Builder, declared driverkit.Parameters) {
	if len(declared) == 0 {
		text.WriteString("There are none.\n")
		return
	}
	text.WriteString("| parameter | meaning |\n|---|---|\n")
	for _, key := range slices.Sorted(maps.Keys(declared)) {
		description := prose(declared[key].Description)
		if declared[key].Changeable {
			description += " Can be changed on an existing bucket."
		}
		fmt.Fprintf(text, "| `%s` | %s |\n", key, description)
	}
}

// prose escapes text for Markdown, so that placeholders in angle brackets are not parsed as HTML.
func prose(text string) string { return strings.ReplaceAll(text, "<", `\<`) }
