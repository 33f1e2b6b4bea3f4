// SPDX-License-Identifier: Apache-2.0

// Command reference writes the configuration reference of the S3 driver, a page and a JSON schema,
// from the configuration types, their comments, and the declared variables and parameters.
package main

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/cooper-cosi/cooper/drivers/driverkit"
	"github.com/cooper-cosi/cooper/drivers/s3driver"
	"github.com/cooper-cosi/cooper/drivers/s3driver/internal/params"
)

// field is one field of the configuration file.
type field struct {
	name, description string
	schema            map[string]any
	fields            []field
}

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: reference SOURCE-DIRECTORY OUTPUT-DIRECTORY")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "reference:", err)
		os.Exit(1)
	}
}

func run(source, output string) error {
	comments, err := readComments(filepath.Join(source, "config.go"))
	if err != nil {
		return err
	}
	fields := describe(reflect.TypeFor[s3driver.Config](), comments)
	schema := object(fields)
	schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	schema["title"] = "Configuration of cosi-driver-s3"
	schema["required"] = []string{"backends"}
	encoded, err := json.MarshalIndent(schema, "", "  ")
	if err != nil {
		return fmt.Errorf("write the schema: %w", err)
	}
	if err := os.WriteFile(filepath.Join(output, "s3-driver.schema.json"), append(encoded, '\n'), 0o600); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(output, "s3-driver.md"), []byte(page(fields)), 0o600)
}

// readComments answers the comment of each field, by type and field name.
func readComments(file string) (map[string]string, error) {
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments)
	if err != nil {
		return nil, fmt.Errorf("read the configuration types: %w", err)
	}
	comments := map[string]string{}
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
	return comments, nil
}

// describe answers the fields of a type that a configuration file can set.
func describe(kind reflect.Type, comments map[string]string) []field {
	var fields []field
	for member := range kind.Fields() {
		name, _, _ := strings.Cut(member.Tag.Get("json"), ",")
		if name == "-" {
			continue
		}
		described := field{name: name, description: comments[kind.Name()+"."+member.Name]}
		switch member.Type.Kind() {
		case reflect.Map:
			described.fields = describe(member.Type.Elem(), comments)
			described.schema = map[string]any{"type": "object", "additionalProperties": object(described.fields)}
			described.name += ".<name>"
		case reflect.Struct:
			described.fields = describe(member.Type, comments)
			described.schema = object(described.fields)
		default:
			described.schema = map[string]any{"type": "string"}
		}
		switch member.Type {
		case reflect.TypeFor[s3driver.BackendType]():
			described.schema["enum"] = []string{"aws", "minio", "versitygw", "static"}
		case reflect.TypeFor[s3driver.Addressing]():
			described.schema["enum"] = []string{"path", "virtual"}
		}
		described.schema["description"] = described.description
		fields = append(fields, described)
	}
	return fields
}

func object(fields []field) map[string]any {
	properties := map[string]any{}
	for _, one := range fields {
		properties[strings.TrimSuffix(one.name, ".<name>")] = one.schema
	}
	return map[string]any{"type": "object", "additionalProperties": false, "properties": properties}
}

func page(fields []field) string {
	var text strings.Builder
	text.WriteString("# S3 driver: configuration\n\nThis page is generated from the code of drivers/s3driver.\n\n")
	text.WriteString("## Configuration file\n\nGiven by `--config`. The same as a JSON schema: [s3-driver.schema.json](s3-driver.schema.json).\n\n| field | meaning |\n|---|---|\n")
	rows(&text, "", fields)
	text.WriteString("\n## Environment variables\n\nThey describe a driver with one backend where there is no file.\n\n| variable | meaning |\n|---|---|\n")
	for _, variable := range s3driver.Variables() {
		fmt.Fprintf(&text, "| `%s` | %s |\n", variable.Name, variable.Description)
	}
	text.WriteString("\n## Parameters of a BucketClass\n\n")
	parameters(&text, params.BucketParameters())
	text.WriteString("\n## Parameters of a BucketAccessClass\n\n")
	parameters(&text, params.AccessParameters())
	return text.String()
}

func rows(text *strings.Builder, prefix string, fields []field) {
	for _, one := range fields {
		fmt.Fprintf(text, "| `%s%s` | %s |\n", prefix, one.name, one.description)
		rows(text, prefix+one.name+".", one.fields)
	}
}

func parameters(text *strings.Builder, declared driverkit.Parameters) {
	text.WriteString("| parameter | meaning |\n|---|---|\n")
	for _, key := range slices.Sorted(maps.Keys(declared)) {
		fmt.Fprintf(text, "| `%s` | %s |\n", key, declared[key].Description)
	}
}
