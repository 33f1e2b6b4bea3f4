// SPDX-License-Identifier: Apache-2.0

// Command charts generates files in deploy/charts. It copies files of deploy/ into the charts, because a chart
// cannot refer to files outside its directory. It generates README.md and values.schema.json of each chart
// from the chart's values.yaml and the comments in that file.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

func main() {
	root := flag.String("root", ".", "directory of the checkout")
	flag.Parse()
	if err := run(filepath.Join(*root, "deploy")); err != nil {
		fmt.Fprintln(os.Stderr, "charts:", err)
		os.Exit(1)
	}
}

// copies returns the files to copy into charts, which cannot refer to files outside: a glob pattern, and the
// target directory.
func copies() [][2]string {
	return [][2]string{
		{"crds/*.yaml", "charts/cosi-controller/files/crds"},
		{"rbac/*.yaml", "charts/cosi-controller/files/rbac"},
		{"policies/crds.yaml", "charts/cosi-controller/files/policies"},
		{"policies/drivers.yaml", "charts/cosi-controller/files/policies"},
		{"policies/protection.yaml", "charts/cosi-controller/files/policies"},
		{"monitoring/dashboard.json", "charts/cosi-controller/files/monitoring"},
		{"monitoring/rules.yaml", "charts/cosi-controller/files/monitoring"},
		{"charts/cosi-controller/templates/_pods.tpl", "charts/cosi-driver/templates"},
	}
}

func run(deploy string) error {
	if err := os.RemoveAll(filepath.Join(deploy, "charts", "cosi-controller", "files")); err != nil {
		return fmt.Errorf("delete the previous output: %w", err)
	}
	for _, c := range copies() {
		if err := copyFiles(filepath.Join(deploy, c[0]), filepath.Join(deploy, c[1])); err != nil {
			return err
		}
	}
	if err := wrapRules(filepath.Join(deploy, "monitoring")); err != nil {
		return err
	}
	charts, err := glob(filepath.Join(deploy, "charts", "*", "Chart.yaml"))
	if err != nil {
		return err
	}
	for _, chart := range charts {
		if err := describe(filepath.Dir(chart)); err != nil {
			return fmt.Errorf("describe the values of %s: %w", chart, err)
		}
	}
	return nil
}

// glob returns the matching files, and an error if there are none.
func glob(pattern string) ([]string, error) {
	files, err := filepath.Glob(pattern)
	if err != nil {
		return nil, fmt.Errorf("find files that match %s: %w", pattern, err)
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("no file matches %s", pattern)
	}
	return files, nil
}

func copyFiles(pattern, directory string) error {
	files, err := glob(pattern)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(directory, 0o750); err != nil {
		return fmt.Errorf("copy a file into a chart: %w", err)
	}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			return fmt.Errorf("copy a file into a chart: %w", err)
		}
		if err := os.WriteFile(filepath.Join(directory, filepath.Base(file)), content, 0o600); err != nil {
			return fmt.Errorf("copy a file into a chart: %w", err)
		}
	}
	return nil
}

// ruleHead turns Prometheus rules into an object for the Prometheus operator.
const ruleHead = `# Generated from rules.yaml by go generate ./deploy; do not edit.
apiVersion: monitoring.coreos.com/v1
kind: PrometheusRule
metadata:
  name: cosi-controller
  namespace: cosi-system
spec:
`

// wrapRules writes a directory's rules as an object for the Prometheus operator.
func wrapRules(directory string) error {
	rules, err := os.ReadFile(filepath.Join(directory, "rules.yaml"))
	if err != nil {
		return fmt.Errorf("read the Prometheus rules: %w", err)
	}
	var object strings.Builder
	object.WriteString(ruleHead)
	for line := range strings.Lines(string(rules)) {
		if line != "\n" {
			line = "  " + line
		}
		object.WriteString(line)
	}
	if err := os.WriteFile(filepath.Join(directory, "prometheusrule.yaml"), []byte(object.String()), 0o600); err != nil {
		return fmt.Errorf("write the Prometheus rules: %w", err)
	}
	return nil
}

// describe writes the files that describe a chart's values.
func describe(directory string) error {
	content, err := os.ReadFile(filepath.Join(directory, "values.yaml"))
	if err != nil {
		return fmt.Errorf("read the values: %w", err)
	}
	values, err := parse(content)
	if err != nil {
		return err
	}
	schema, err := values.schema()
	if err != nil {
		return err
	}
	page, err := values.page(directory)
	if err != nil {
		return err
	}
	for name, text := range map[string]string{"values.schema.json": schema, "README.md": page} {
		if err := os.WriteFile(filepath.Join(directory, name), []byte(text), 0o600); err != nil {
			return fmt.Errorf("write a file of the chart: %w", err)
		}
	}
	return nil
}
