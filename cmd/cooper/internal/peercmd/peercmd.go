// SPDX-License-Identifier: Apache-2.0

// Package peercmd translates the command lines of Azurite, MinIO, fake-gcs-server and LocalStack into those of
// cooper, so that the image replaces theirs without changes.
package peercmd

import (
	"cmp"
	"fmt"
	"net"
	"os"
	"path"
	"slices"
	"strings"
)

// Request is a start of the program.
type Request struct {
	// Program is the name under which the program was started, and Args its arguments.
	Program string
	Args    []string
	// Lookup returns an environment variable, like os.LookupEnv.
	Lookup func(string) (string, bool)
	// Container is set if the program is the first process of a container.
	Container bool
}

// Result is the equivalent command line of cooper.
type Result struct {
	Args []string
	// Notes are messages about options that have no effect.
	Notes []string
}

// An option is a command-line option of a peer.
type option struct {
	// value is set if the option has a value.
	value bool
	// ignored is the reason why the option has no effect, or "" if it is evaluated.
	ignored string
	// refused is the reason why the option is rejected.
	refused string
}

// A grammar describes the command line of a peer.
type grammar struct {
	options map[string]option
	// short maps short names of options to long ones.
	short map[string]string
	// variables is the prefix of environment variables that set options, or "".
	variables string
}

// parsed is a command line of a peer.
type parsed struct {
	values    map[string]string
	arguments []string
	notes     []string
}

func (p parsed) or(name, otherwise string) string { return cmp.Or(p.values[name], otherwise) }

// Translate returns the command line of cooper. ok is false if the request is not a command line of a peer.
func Translate(r Request) (out Result, ok bool, err error) {
	name, args := path.Base(strings.ReplaceAll(r.Program, `\`, "/")), r.Args
	if _, known := translations[name]; !known {
		switch {
		case len(args) > 0 && translations[args[0]] != nil:
			name, args = args[0], args[1:]
		case len(args) > 0 && args[0] == "server":
			name = "minio"
		case len(args) > 0 && fakeGCS.begins(args[0]):
			name = "fake-gcs-server"
		case len(args) == 0 && r.Container && (r.has("LOCALSTACK_HOST") || r.has("HOSTNAME_EXTERNAL")):
			name, args = "localstack", []string{"start"}
		case len(args) == 0 && r.Container && r.has("AZURITE_ACCOUNTS"):
			name, args = "azurite", []string{"--location=/data", "--blobHost=0.0.0.0", "--queueHost=0.0.0.0", "--tableHost=0.0.0.0"} // as Azurite's image
		default:
			return Result{}, false, nil
		}
	}
	out, err = translations[name](r, args)
	if err != nil {
		return out, true, fmt.Errorf("%s: %w", name, err)
	}
	return out, true, nil
}

var translations = map[string]func(Request, []string) (Result, error){
	"azurite":         func(r Request, args []string) (Result, error) { return translateAzurite(r, args, true) },
	"azurite-blob":    func(r Request, args []string) (Result, error) { return translateAzurite(r, args, false) },
	"azurite-queue":   unserved("Queue Storage"),
	"azurite-table":   unserved("Table Storage"),
	"minio":           translateMinIO,
	"fake-gcs-server": translateFakeGCS,
	"localstack":      translateLocalStack,
}

func unserved(what string) func(Request, []string) (Result, error) {
	return func(Request, []string) (Result, error) {
		return Result{}, fmt.Errorf("cooper does not serve %s", what)
	}
}

func (r Request) has(variable string) bool {
	_, ok := r.Lookup(variable)
	return ok
}

// begins reports whether an argument is an option of the grammar.
func (g grammar) begins(arg string) bool {
	name, _, _ := strings.Cut(strings.TrimLeft(arg, "-"), "=")
	_, known := g.options[name]
	return known && strings.HasPrefix(arg, "-")
}

// parse parses a command line, and then the environment variables of options that it does not contain.
func (g grammar) parse(r Request, args []string) (parsed, error) {
	out := parsed{values: map[string]string{}}
	for len(args) > 0 {
		arg := args[0]
		args = args[1:]
		if !strings.HasPrefix(arg, "-") {
			out.arguments = append(out.arguments, arg)
			continue
		}
		name, value, given := strings.Cut(strings.TrimLeft(arg, "-"), "=")
		name = cmp.Or(g.short[name], name)
		if g.options[name].value && !given {
			if len(args) == 0 {
				return out, fmt.Errorf("option %s requires a value", arg)
			}
			value, args = args[0], args[1:]
		}
		if err := out.set(g, name, cmp.Or(value, "true")); err != nil {
			return out, err
		}
	}
	if g.variables == "" {
		return out, nil
	}
	for name, o := range g.options {
		value, ok := r.Lookup(g.variables + strings.ToUpper(strings.NewReplacer("-", "_", ".", "_").Replace(name)))
		if _, given := out.values[name]; ok && value != "" && !given && o.ignored == "" {
			if err := out.set(g, name, value); err != nil {
				return out, err
			}
		}
	}
	return out, nil
}

func (p *parsed) set(g grammar, name, value string) error {
	o, known := g.options[name]
	switch {
	case !known:
		return fmt.Errorf("cooper does not support the option %s; use the flags of `cooper help fakes`", name)
	case o.refused != "":
		return fmt.Errorf("cooper does not support the option %s: %s", name, o.refused)
	case o.ignored != "":
		p.notes = append(p.notes, "the option "+name+" has no effect: "+o.ignored)
	}
	p.values[name] = value
	return nil
}

// result returns the result with the flags, each a name and a value. Flags without a value are omitted.
func (p parsed) result(cloud, like string, flags ...string) Result {
	args := []string{"fakes", cloud, "--like=" + like}
	for pair := range slices.Chunk(flags, 2) {
		if pair[1] != "" {
			args = append(args, "--"+pair[0]+"="+pair[1])
		}
	}
	slices.Sort(p.notes)
	return Result{Args: args, Notes: p.notes}
}

// noArguments returns an error if the command line has arguments that are not options.
func (p parsed) noArguments() error {
	if len(p.arguments) > 0 {
		return fmt.Errorf("the command line has an unexpected argument: %q", p.arguments[0])
	}
	return nil
}

// host is the address that a peer listens on by default. Unlike the peers, cooper uses all addresses only in a container,
// because everybody knows the credentials.
func (r Request) host() string {
	if r.Container {
		return "0.0.0.0"
	}
	return "127.0.0.1"
}

// address completes an address whose host is empty, which means all addresses.
func address(text string) string {
	if host, port, err := net.SplitHostPort(text); err == nil && host == "" {
		return net.JoinHostPort("0.0.0.0", port)
	}
	return text
}

func exists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}

// isDir reports whether name is the path of a directory.
func isDir(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.IsDir()
}
