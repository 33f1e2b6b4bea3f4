// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/cooper-cosi/cooper/cmd/internal/serve"
	"github.com/cooper-cosi/cooper/sanity"
	"github.com/cooper-cosi/cooper/sanity/settings"
)

var errHelp = pflag.ErrHelp

// options are the flags of a run.
type options struct {
	target
	focus, explain, json, junit, journal string
	failOn, runID                        string
	seed                                 uint64
	list, quiet, version                 bool
}

// target selects the driver of run and sweep.
type target struct {
	config, endpoint, exec, contract string
	api                              kubernetesAPI
}

func (t *target) flags(flags *pflag.FlagSet) {
	flags.StringVarP(&t.config, "config", "c", "", "YAML file with the target, parameters and hooks")
	flags.StringVar(&t.endpoint, "endpoint", "", "address of a running driver, unix:///path/to/driver.sock")
	flags.StringVar(&t.contract, "contract", "", "contract to test: v1alpha2 or v1alpha1 (default: from the file, or v1alpha2)")
	flags.StringVar(&t.exec, "exec", "", "command line that starts the driver, split at spaces")
	t.api.flags(flags)
}

// load merges the file and the flags. Flags take precedence.
func (t *target) load() (sanity.Config, error) {
	var file settings.File
	if t.config != "" {
		var err error
		if file, err = settings.Read(t.config); err != nil {
			return sanity.Config{}, err
		}
	}
	switch {
	case t.endpoint != "" && t.exec != "":
		return sanity.Config{}, errors.New("--endpoint and --exec are mutually exclusive")
	case t.endpoint != "":
		file.Endpoint, file.Command = t.endpoint, nil
	case t.exec != "":
		file.Endpoint, file.Command = "", strings.Fields(t.exec)
	}
	if t.contract != "" {
		file.Contract = t.contract
	}
	if file.Endpoint == "" && len(file.Command) == 0 {
		return sanity.Config{}, errors.New("no driver to test: pass --endpoint, --exec, or --config with one of them")
	}
	config, err := file.Config()
	if err != nil {
		return sanity.Config{}, err
	}
	return config, t.api.configure(&config)
}

func newFlags(name string, problems io.Writer) *pflag.FlagSet {
	flags := pflag.NewFlagSet(name, pflag.ContinueOnError)
	flags.SetOutput(problems)
	flags.Usage = func() {
		_, _ = fmt.Fprint(problems, usage, "\nFlags:\n", flags.FlagUsages())
	}
	return flags
}

func runSuite(ctx context.Context, arguments []string, out, problems io.Writer) (int, error) {
	var o options
	flags := newFlags("cosi-sanity", problems)
	o.flags(flags)
	o.own(flags)
	if err := flags.Parse(arguments); err != nil {
		return exitUsage, err
	}
	if flags.NArg() > 0 {
		return exitUsage, fmt.Errorf("unexpected argument %q; see --help", flags.Arg(0))
	}
	contract, err := settings.ContractOf(o.contract)
	switch {
	case err != nil:
		return exitUsage, err
	case o.version:
		_, _ = fmt.Fprintln(out, "cosi-sanity", serve.Version())
		return exitConformant, nil
	case o.list:
		return exitConformant, list(out, contract)
	case o.explain != "":
		return explain(out, o.explain)
	}
	return o.run(ctx, out, problems)
}

func (o *options) own(flags *pflag.FlagSet) {
	flags.StringVar(&o.focus, "focus", "", "regular expression that selects cases by ID")
	flags.BoolVar(&o.list, "list", false, "list all cases and exit")
	flags.StringVar(&o.explain, "explain", "", "explain a case and exit")
	flags.StringVar(&o.json, "json", "", "write the report as JSON to this file; - is standard output")
	flags.StringVar(&o.junit, "junit", "", "write the report as JUnit XML to this file")
	flags.StringVar(&o.journal, "journal", "", "file in which the run records the objects that it creates (default: a temporary file, deleted after cleanup)")
	flags.StringVar(&o.failOn, "fail-on", "must", "lowest level that can fail the run: must, should or advice")
	flags.StringVar(&o.runID, "run-id", "", "string in all names that the run creates, 1 to 8 characters of a-z and 0-9 (default: random)")
	flags.Uint64Var(&o.seed, "seed", 0, "seed of random choices (default: random, printed)")
	flags.BoolVar(&o.quiet, "quiet", false, "print only failures and the verdict")
	flags.BoolVar(&o.version, "version", false, "print the version and exit")
}

func (o *options) run(ctx context.Context, out, problems io.Writer) (int, error) {
	levels, known := map[string][]sanity.Level{
		"must": {sanity.Must}, "should": {sanity.Must, sanity.Should}, "advice": {sanity.Must, sanity.Should, sanity.Advice},
	}[o.failOn]
	if !known {
		return exitUsage, fmt.Errorf("--fail-on %s is not one of must, should, advice", o.failOn)
	}
	config, err := o.load()
	if err != nil {
		return exitUsage, err
	}
	if config.Focus, err = focus(o.focus, config.Contract); err != nil {
		return exitUsage, err
	}
	book, err := openJournal(o.journal)
	if err != nil {
		return exitUsage, err
	}
	stop, err := o.api.serve(ctx, config.Objects, problems)
	if err != nil {
		return exitUsage, errors.Join(err, book.close(true))
	}
	defer stop()
	config.Journal, config.RunID, config.Seed = book.file, o.runID, o.seed
	if !o.quiet && o.json != "-" {
		config.Progress = newProgress(out, len(sanity.CasesOf(config.Contract))).show
	}
	if !o.quiet {
		config.Waiting = waiting(problems)
	}
	report, err := sanity.Run(ctx, config)
	if err != nil {
		return exitUsage, errors.Join(err, book.close(true))
	}
	if err := o.write(report, out); err != nil {
		return exitUsage, err
	}
	code := verdict(report, levels)
	if o.json != "-" {
		summarize(out, report, book)
		if must := report.Count(sanity.Must); code == exitNotConformant && must.Passed == must.Applicable {
			_, _ = fmt.Fprintf(out, "not conformant with --fail-on %s: %s\n", o.failOn, failedOf(report, levels))
		}
	}
	return code, book.close(clean(report) && ctx.Err() == nil)
}

func focus(pattern string, contract sanity.Contract) (func(string) bool, error) {
	if pattern == "" {
		return nil, nil //nolint:nilnil // without a focus, all cases run
	}
	expression, err := regexp.Compile(pattern)
	if err != nil {
		return nil, fmt.Errorf("--focus: %w", err)
	}
	if !slices.ContainsFunc(sanity.CasesOf(contract), func(c sanity.Case) bool { return expression.MatchString(c.ID) }) {
		return nil, fmt.Errorf("--focus %s: no case ID matches; see --list", pattern)
	}
	return expression.MatchString, nil
}

// verdict returns the exit code for a report.
func verdict(report sanity.Report, levels []sanity.Level) int {
	if !report.Tested() {
		return exitNotTested
	}
	for _, level := range levels {
		if count := report.Count(level); count.Passed < count.Applicable {
			return exitNotConformant
		}
	}
	return exitConformant
}

// failedOf returns the names of the failed cases of some levels.
func failedOf(report sanity.Report, levels []sanity.Level) string {
	var failed []string
	for _, result := range report.Of(sanity.Failed) {
		if slices.Contains(levels, result.Case.Level) {
			failed = append(failed, result.Case.ID+" failed")
		}
	}
	return strings.Join(failed, ", ")
}

func clean(report sanity.Report) bool {
	for _, result := range report.Results {
		if len(result.Leftovers) > 0 {
			return false
		}
	}
	return true
}

func (o *options) write(report sanity.Report, out io.Writer) error {
	if o.json == "-" {
		if err := report.WriteJSON(out); err != nil {
			return err
		}
	} else if o.json != "" {
		if err := writeFile(o.json, report.WriteJSON); err != nil {
			return err
		}
	}
	if o.junit != "" {
		return writeFile(o.junit, report.WriteJUnit)
	}
	return nil
}

func writeFile(path string, write func(io.Writer) error) error {
	file, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	return errors.Join(write(file), file.Close())
}

// journalFile is the journal of a run.
type journalFile struct {
	file *os.File
}

func openJournal(path string) (journalFile, error) {
	if path == "" {
		file, err := os.CreateTemp("", "cosi-sanity-*.journal")
		if err != nil {
			return journalFile{}, fmt.Errorf("create the journal: %w", err)
		}
		return journalFile{file: file}, nil
	}
	file, err := os.OpenFile(filepath.Clean(path), os.O_CREATE|os.O_WRONLY|os.O_EXCL, 0o600)
	if errors.Is(err, os.ErrExist) {
		return journalFile{}, fmt.Errorf("journal %s exists: sweep it first (cosi-sanity sweep --journal %s ...), or use another file", path, path)
	}
	if err != nil {
		return journalFile{}, fmt.Errorf("create the journal: %w", err)
	}
	return journalFile{file: file}, nil
}

// close deletes the journal unless something may be left to sweep.
func (j journalFile) close(remove bool) error {
	err := j.file.Close()
	if remove {
		err = errors.Join(err, os.Remove(j.file.Name()))
	}
	if err != nil {
		return fmt.Errorf("close the journal: %w", err)
	}
	return nil
}
