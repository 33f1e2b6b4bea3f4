// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/cooper-cosi/cooper/testenv/controlplane/binaries"
)

// Cluster configures the control plane of a cluster with nodes: Pods get service accounts and are scheduled,
// and all controllers of Kubernetes run.
type Cluster struct {
	// CA, Certificate and Key are PEM data and replace the generated ones of the API server. The certificate
	// must contain the names and addresses at which Pods reach it. TokenKey signs service account tokens.
	CA, Certificate, Key, TokenKey []byte
	// APIServer are additional arguments of the API server, without dashes.
	APIServer map[string]string
	// ControllerManager and Scheduler are the paths of the executables.
	ControllerManager, Scheduler string
}

// configure sets the API server's arguments for a cluster.
func (c *Cluster) configure(server *envtest.APIServer) error {
	for name, content := range map[string][]byte{
		"apiserver.crt": c.Certificate, "apiserver.key": c.Key, "sa-signer.crt": c.TokenKey, "sa-signer.key": c.TokenKey, caFile: c.CA,
	} {
		if err := os.WriteFile(filepath.Join(server.CertDir, name), content, 0o600); err != nil {
			return fmt.Errorf("write the certificates of the API server: %w", err)
		}
	}
	server.CA = c.CA
	arguments := server.Configure()
	// envtest disables the ServiceAccount admission plugin.
	arguments.Disable("disable-admission-plugins")
	for name, value := range c.APIServer {
		arguments.Set(name, value)
	}
	return nil
}

// caFile is a file name that envtest does not use.
const caFile = "cluster-ca.crt"

// startControllers starts the components that envtest does not start: a few controllers of Kubernetes or, for
// a cluster, all of them and the scheduler.
func (c *ControlPlane) startControllers(ctx context.Context, of *Cluster) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("the start of the control plane was interrupted: %w", context.Cause(ctx))
	}
	// Of the controllers' own roles only those of service accounts exist, and their tokens would require
	// another controller.
	config, err := c.User("system:kube-controller-manager", "system:masters")
	if err != nil {
		return err
	}
	if err := WriteKubeconfig(c.layout.kubeconfig(), config, "default"); err != nil {
		return err
	}
	if of == nil {
		return c.startController(binaries.ControllerManager, "--controllers="+managedControllers)
	}
	if err := c.startController(binaries.ControllerManager, "--root-ca-file="+filepath.Join(c.layout.certs(), caFile)); err != nil {
		return err
	}
	return c.startController(scheduler)
}

func (c *ControlPlane) startController(name string, arguments ...string) error {
	log, err := c.openLog(name)
	if err != nil {
		return err
	}
	all := append([]string{"--kubeconfig=" + c.layout.kubeconfig(), "--leader-elect=false", "--secure-port=0"}, arguments...)
	started, err := StartProcess(log, c.layout.program(name), all...)
	if err != nil {
		return err
	}
	c.controllers = append(c.controllers, started)
	return nil
}

// managedControllers are the controllers to run, by their names in kube-controller-manager.
const managedControllers = "namespace-controller,garbage-collector-controller,resourcequota-controller," +
	"clusterrole-aggregation-controller"

// scheduler is the name of the executable that only a cluster needs.
const scheduler = "kube-scheduler"
