// SPDX-License-Identifier: Apache-2.0

// Package status implements the subcommand status, which shows claims, accesses and Buckets with all related
// objects. The information comes from package tree.
package status

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cooper-cosi/cooper/cmd/internal/serve"
	"github.com/cooper-cosi/cooper/cmd/internal/tree"
	"github.com/cooper-cosi/cooper/cmd/kubectl-cosi/internal/plugin"
	"github.com/cooper-cosi/cooper/deploy"
)

// Exit codes in addition to those of every subcommand.
const (
	// ExitWaiting means that something is not provisioned yet.
	ExitWaiting = 3
	// ExitFailed means that something does not recover without a change.
	ExitFailed = 4
)

// interval is the poll interval of --watch.
const interval = 2 * time.Second

const example = `  # All claims and accesses of the namespace
  kubectl cosi status

  # One claim, with every condition
  kubectl cosi status claim/photos -o wide

  # Wait in a script: 0 is provisioned, 3 is waiting, 4 is failed
  until kubectl cosi status access/photos; do [ $? -eq 3 ] || exit 1; sleep 2; done

  # As an image
  kubectl cosi status -o dot | dot -Tsvg >cosi.svg`

// options are the flags.
type options struct {
	*plugin.Plugin

	all    bool
	watch  bool
	format string
	system string
}

// New returns the subcommand.
func New(p *plugin.Plugin) *cobra.Command {
	o := &options{Plugin: p}
	c := &cobra.Command{
		Use:   "status [claim/NAME | access/NAME | bucket/NAME ...]",
		Short: "Show the state of claims and accesses, their problems and how to fix them",
		Long: "Show the state of claims and accesses with all related objects, their problems and how to fix them.\n" +
			"With --all-namespaces, it also shows Buckets that are stuck or held after their claim was deleted.\n\n" +
			"It exits with 0 if all objects are provisioned, with 3 if one is waiting and with 4 if one failed. It\n" +
			"reports and skips objects that you are not allowed to read; if you named such an object, it exits with 1.",
		Example:           example,
		RunE:              func(c *cobra.Command, args []string) error { return o.run(c.Context(), args) },
		ValidArgsFunction: o.complete,
	}
	c.Flags().BoolVarP(&o.all, "all-namespaces", "A", false, "show all namespaces")
	c.Flags().BoolVarP(&o.watch, "watch", "w", false, "show every change until Ctrl-C")
	c.Flags().StringVarP(&o.format, "output", "o", "", "wide, json, yaml or dot")
	c.Flags().StringVar(&o.system, "system-namespace", deploy.SystemNamespace, "namespace of the Leases of the controller and the sidecars")
	_ = c.RegisterFlagCompletionFunc("output", cobra.FixedCompletions([]string{"wide", "json", "yaml", "dot"}, cobra.ShellCompDirectiveNoFileComp)) // the flag exists
	return c
}

func (o *options) run(ctx context.Context, args []string) error {
	show, err := printerFor(o.format)
	if err != nil {
		return err
	}
	namespace, err := o.Namespace()
	if err != nil {
		return err
	}
	roots, err := parse(args, namespace)
	if err != nil {
		return err
	}
	query, err := o.query(roots, namespace)
	if err != nil {
		return err
	}
	c, err := o.Client()
	if err != nil {
		return err
	}
	look := func() ([]*tree.Node, time.Time, error) {
		query.Now = o.Now(ctx)
		objects, err := tree.Read(ctx, c, query)
		if err != nil {
			return nil, query.Now, err
		}
		return tree.Build(objects, roots...), query.Now, nil
	}
	nodes, now, err := look()
	if err == nil {
		err = o.draw(show, now, nodes, true)
	}
	if err != nil {
		return err
	}
	if !o.watch {
		return verdict(nodes)
	}
	return o.follow(ctx, show, look, nodes)
}

// follow polls until ctx ends and shows the changes. On a terminal it redraws everything, as ages change.
func (o *options) follow(ctx context.Context, show printer, look func() ([]*tree.Node, time.Time, error), last []*tree.Node) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(interval):
		}
		nodes, now, err := look()
		switch {
		case ctx.Err() != nil:
			return nil //nolint:nilerr // interrupted by Ctrl-C
		case err != nil: // the next read may succeed
			fmt.Fprintln(o.ErrOut, "error:", tree.Plain(err.Error()))
		case o.Terminal().Redraws, !reflect.DeepEqual(nodes, last):
			if err := o.draw(show, now, nodes, false); err != nil {
				return err
			}
			last = nodes
		}
	}
}

// query returns what to read for the roots.
func (o *options) query(roots []tree.Root, namespace string) (tree.Query, error) {
	q := tree.Query{System: o.system}
	named := false
	for _, root := range roots {
		if root.Kind == tree.KindBucket {
			q.Buckets = append(q.Buckets, root.Name)
		} else {
			named = true
		}
	}
	switch {
	case o.all && named:
		return q, plugin.Usagef("names and --all-namespaces are mutually exclusive")
	case o.all:
		q.Namespaces = []string{metav1.NamespaceAll}
	case named, len(roots) == 0:
		q.Namespaces = []string{namespace}
	}
	return q, nil
}

// draw shows trees, on a terminal in place of the previous ones, otherwise below them.
func (o *options) draw(show printer, now time.Time, nodes []*tree.Node, first bool) error {
	terminal := o.Terminal()
	var text bytes.Buffer
	switch {
	case !o.watch:
	case terminal.Redraws:
		text.WriteString("\x1b[H\x1b[2J\x1b[3J")
	case !first:
		text.WriteString("\n")
	}
	if err := show(&text, view{Terminal: terminal, now: now, namespaces: o.all}, nodes); err != nil {
		return err
	}
	_, err := text.WriteTo(o.Out)
	return err
}

// verdict returns the exit code as an error. Requested objects that may not be read count as not provisioned.
func verdict(nodes []*tree.Node) error {
	switch worst := tree.Worst(nodes); {
	case worst == tree.Failed:
		return &plugin.ExitError{Code: ExitFailed}
	case worst == tree.Waiting:
		return &plugin.ExitError{Code: ExitWaiting}
	case slices.ContainsFunc(nodes, func(n *tree.Node) bool { return n.State == tree.Unknown }):
		return &plugin.ExitError{Code: serve.ExitError}
	default:
		return nil
	}
}

// parse parses the arguments.
func parse(args []string, namespace string) ([]tree.Root, error) {
	roots := make([]tree.Root, 0, len(args))
	for _, arg := range args {
		kind, name, ok := strings.Cut(arg, "/")
		root := tree.Root{Kind: kindOf(kind), Namespace: namespace, Name: name}
		if !ok || root.Kind == "" || name == "" {
			return nil, plugin.Usagef("%q is not one of claim/NAME, access/NAME, bucket/NAME", arg)
		}
		if root.Kind == tree.KindBucket {
			root.Namespace = ""
		}
		roots = append(roots, root)
	}
	return roots, nil
}

// kindOf returns the kind for any name that kubectl accepts, or an empty string.
func kindOf(word string) string {
	word, _, _ = strings.Cut(strings.ToLower(word), ".")
	switch word {
	case "claim", "claims", "bc", "bucketclaim", "bucketclaims":
		return tree.KindClaim
	case "access", "accesses", "ba", "bucketaccess", "bucketaccesses":
		return tree.KindAccess
	case "bucket", "buckets":
		return tree.KindBucket
	default:
		return ""
	}
}

// A printer writes trees in one format.
type printer func(io.Writer, view, []*tree.Node) error

func printerFor(format string) (printer, error) {
	switch format {
	case "":
		return func(w io.Writer, v view, nodes []*tree.Node) error { return v.table(w, nodes, false) }, nil
	case "wide":
		return func(w io.Writer, v view, nodes []*tree.Node) error { return v.table(w, nodes, true) }, nil
	case "json":
		return asJSON, nil
	case "yaml":
		return asYAML, nil
	case "dot":
		return asDot, nil
	default:
		return nil, plugin.Usagef("--output %q is not one of wide, json, yaml, dot", format)
	}
}
