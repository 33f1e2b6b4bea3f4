// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/yaml"

	"github.com/cooper-cosi/cooper/testenv/controlplane/binaries"
)

// environment configures envtest. It sets every path, so that no environment variable of envtest changes
// which executables run.
func (c *ControlPlane) environment(o Options) (*envtest.Environment, error) {
	server, err := c.apiServer(o)
	if err != nil {
		return nil, err
	}
	store, err := c.etcd()
	if err != nil {
		return nil, err
	}
	existing := false
	return &envtest.Environment{
		UseExistingCluster: &existing,
		ControlPlane: envtest.ControlPlane{
			APIServer: server, Etcd: store, KubectlPath: c.executables.Kubectl,
		},
		ControlPlaneStartTimeout: startTimeout,
		ControlPlaneStopTimeout:  stopTimeout,
	}, nil
}

func (c *ControlPlane) apiServer(o Options) (*envtest.APIServer, error) {
	log, err := c.openLog(binaries.APIServer)
	if err != nil {
		return nil, err
	}
	server := &envtest.APIServer{
		Path: c.layout.program(binaries.APIServer), CertDir: c.layout.certs(), Out: log, Err: log,
	}
	if o.Port != 0 {
		server.Address, server.Port = loopback, strconv.Itoa(o.Port)
	}
	arguments := server.Configure()
	if len(o.AdmissionPlugins) > 0 {
		arguments.Append("enable-admission-plugins", strings.Join(o.AdmissionPlugins, ","))
	}
	// The host in the URL of the service account keys. By default the server names an address that its
	// certificate does not include.
	arguments.Set("external-hostname", loopback)
	if o.AllInterfaces {
		arguments.Set("bind-address", "0.0.0.0")
	}
	if o.Cluster != nil {
		if err := o.Cluster.configure(server); err != nil {
			return nil, err
		}
	}
	if c.auditLog == "" {
		return server, nil
	}
	policy := cmp.Or(o.AuditPolicy, DefaultAuditPolicy)
	if err := os.WriteFile(c.layout.auditPolicy(), []byte(policy), 0o600); err != nil {
		return nil, fmt.Errorf("write the audit policy: %w", err)
	}
	arguments.Set("audit-policy-file", c.layout.auditPolicy())
	arguments.Set("audit-log-path", c.auditLog)
	arguments.Set("audit-log-mode", "blocking")
	arguments.Set("audit-log-maxsize", "1000000") // MB: rotation would lose records that AuditEvents has not read
	return server, nil
}

func (c *ControlPlane) etcd() (*envtest.Etcd, error) {
	log, err := c.openLog(binaries.Etcd)
	if err != nil {
		return nil, err
	}
	store := &envtest.Etcd{Path: c.layout.program(binaries.Etcd), DataDir: c.layout.etcd(), Out: log, Err: log}
	if !c.layout.temporary {
		// envtest disables fsync because test data need not survive a crash. A user's data must.
		store.Configure().Set("unsafe-no-fsync", "false")
	}
	return store, nil
}

func (c *ControlPlane) openLog(component string) (*os.File, error) {
	log, err := os.Create(filepath.Join(c.layout.logs(), component+".log"))
	if err != nil {
		return nil, fmt.Errorf("create the log of %s: %w", component, err)
	}
	c.logs = append(c.logs, log)
	return log, nil
}

// installCRDs installs the CRDs unless look returns an error.
func (c *ControlPlane) installCRDs(
	ctx context.Context, crds []*apiextensionsv1.CustomResourceDefinition, look func(context.Context, *rest.Config) error,
) error {
	if look != nil {
		if err := look(ctx, c.Config()); err != nil {
			return err
		}
	}
	if _, err := envtest.InstallCRDs(c.env.Config, envtest.CRDInstallOptions{CRDs: crds, MaxTime: startTimeout}); err != nil {
		return fmt.Errorf("cannot install the CRDs: %w%s", err, c.layout.lastLogs())
	}
	return nil
}

// shownLines is how many lines of each component's log the error of a failed start includes.
const shownLines = 8

// lastLogs returns the last lines of every log, for an error message.
func (l layout) lastLogs() string {
	var b strings.Builder
	for _, component := range []string{binaries.Etcd, binaries.APIServer, binaries.ControllerManager, scheduler} {
		content, err := os.ReadFile(filepath.Join(l.logs(), component+".log"))
		if err != nil || len(content) == 0 {
			continue
		}
		lines := strings.Split(strings.TrimSpace(string(content)), "\n")
		lines = lines[max(0, len(lines)-shownLines):]
		fmt.Fprintf(&b, "\nthe last lines of %s:\n%s", component, strings.Join(lines, "\n"))
	}
	return b.String()
}

func parseCRDs(manifests map[string][]byte) ([]*apiextensionsv1.CustomResourceDefinition, error) {
	crds := make([]*apiextensionsv1.CustomResourceDefinition, 0, len(manifests))
	for _, name := range slices.Sorted(maps.Keys(manifests)) {
		crd := &apiextensionsv1.CustomResourceDefinition{}
		if err := yaml.UnmarshalStrict(manifests[name], crd); err != nil {
			return nil, fmt.Errorf("%s is not a CustomResourceDefinition: %w", name, err)
		}
		crds = append(crds, crd)
	}
	return crds, nil
}
