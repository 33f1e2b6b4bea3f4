// SPDX-License-Identifier: Apache-2.0

// Package doctor implements the subcommand doctor, which examines COSI in a cluster, as far as the user's
// permissions allow. Each finding names the problem, the object, and what to do. The subcommand changes
// nothing.
package doctor

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cooper-cosi/cooper/cmd/internal/serve"
	"github.com/cooper-cosi/cooper/cmd/internal/tree"
	"github.com/cooper-cosi/cooper/cmd/kubectl-cosi/internal/plugin"
	"github.com/cooper-cosi/cooper/deploy"
)

// New returns the subcommand.
func New(p *plugin.Plugin) *cobra.Command {
	var all bool
	var system string
	c := &cobra.Command{
		Use:   "doctor",
		Short: "Check the controller, drivers, classes and your permissions, and suggest fixes",
		Long: "Check the CustomResourceDefinitions, admission policies, controller, drivers, classes, stuck deletions, clocks and your\n" +
			"permissions, and suggest fixes. It exits with 1 if there is a problem. It skips and reports objects that you are not allowed to read.",
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			namespace, err := p.Namespace()
			if err != nil {
				return err
			}
			if all {
				namespace = metav1.NamespaceAll
			}
			return run(c.Context(), p, namespace, system)
		},
	}
	c.Flags().BoolVarP(&all, "all-namespaces", "A", false, "check the claims and accesses of all namespaces")
	c.Flags().StringVar(&system, "system-namespace", deploy.SystemNamespace, "namespace of the Leases of the controller and the sidecars")
	return c
}

// A finding is the result of one check. Its state is Failed for a problem, Waiting for something that may
// need attention, and Unknown if the user may not read it.
type finding struct {
	state tree.State
	// what names the object and the problem, do what to do.
	what, do string
}

func good(format string, args ...any) finding {
	return finding{state: tree.Good, what: fmt.Sprintf(format, args...)}
}

// An examination is the input of the checks.
type examination struct {
	config            *rest.Config
	client            client.Client
	namespace, system string
	// here is the time on this machine, there the time in the cluster, or zero if unknown.
	here, there time.Time
	// objects are nil if they cannot be read.
	objects *tree.Objects
}

func run(ctx context.Context, p *plugin.Plugin, namespace, system string) error {
	e, err := examine(ctx, p, namespace, system)
	if err != nil {
		return err
	}
	wrong := 0
	for _, check := range []func(*examination, context.Context) []finding{
		(*examination).crds, (*examination).policies, (*examination).clocks, (*examination).rights, (*examination).read,
		(*examination).controller, (*examination).drivers, (*examination).clashes, (*examination).deletions, (*examination).states,
	} {
		for _, f := range check(e, ctx) {
			f.print(p)
			if f.state == tree.Failed {
				wrong++
			}
		}
	}
	if wrong > 0 {
		return &plugin.ExitError{Code: serve.ExitError, Err: fmt.Errorf("findings that require action: %d", wrong)}
	}
	return nil
}

func examine(ctx context.Context, p *plugin.Plugin, namespace, system string) (*examination, error) {
	config, err := p.Config()
	if err != nil {
		return nil, err
	}
	c, err := p.Client()
	if err != nil {
		return nil, err
	}
	before := time.Now()
	there, err := p.ServerTime(ctx)
	if err != nil {
		return nil, err // every check needs the API server
	}
	return &examination{config: config, client: c, namespace: namespace, system: system, here: before.Add(time.Since(before) / 2), there: there}, nil
}

// read reads the objects for the checks that follow it.
func (e *examination) read(ctx context.Context) []finding {
	objects, err := tree.Read(ctx, e.client, tree.Query{Namespaces: []string{e.namespace}, System: e.system, Now: e.there})
	switch {
	case meta.IsNoMatchError(err):
		return nil // the check of the CRDs reports this
	case err != nil:
		return []finding{{
			state: tree.Failed, what: fmt.Sprintf("BucketClaims and BucketAccesses: %v.", err),
			do: "Ask an administrator for the role view in this namespace, or select another namespace with -n.",
		}}
	}
	e.objects = objects
	return nil
}

func (f finding) print(p *plugin.Plugin) {
	words := map[tree.State]string{tree.Good: "ok   ", tree.Waiting: "look ", tree.Failed: "FAIL ", tree.Unknown: "?    "}
	terminal := p.Terminal()
	const indent = "      "
	fmt.Fprint(p.Out, terminal.Paint(f.state, words[f.state])+" "+terminal.Indented(indent, f.what)[len(indent):])
	if f.do != "" {
		fmt.Fprint(p.Out, terminal.Indented(indent, "→ "+f.do))
	}
}
