// SPDX-License-Identifier: Apache-2.0

package up

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/cmd/cooper/internal/rundir"
	"github.com/cooper-cosi/cooper/internal/secretkeys"
	"github.com/cooper-cosi/cooper/internal/shellenv"
)

const (
	// endpointKey is the key of an S3 access Secret that holds the URL.
	endpointKey = "AWS_ENDPOINT_URL"
	// secretPoll is the poll interval of awaitCurrent.
	secretPoll = 100 * time.Millisecond
)

// EnvironmentOptions select the credential to print.
type EnvironmentOptions struct {
	Dir rundir.Dir
	// Namespace and Secret name an access Secret; empty means those of the
	// sample.
	Namespace, Secret string
	// StoreAdministrator prints the root credential of the S3 store instead of a granted credential.
	StoreAdministrator bool
	// Granted is the value of GrantedVariable in the calling shell.
	Granted string
	// Out receives the variables, Notes receives remarks.
	Out, Notes io.Writer
}

// Environment prints shell commands for eval that set KUBECONFIG, a PATH with kubectl, and the keys of an
// access Secret. It unsets variables that an earlier call set and that no Secret contains now.
func Environment(ctx context.Context, o EnvironmentOptions) error {
	info, ok, err := o.Dir.Holder()
	if err != nil {
		return err
	}
	if !ok {
		return fmt.Errorf("no system is running in %s: start one with cooper up%s", o.Dir.Path(), rundir.Option(o.Dir.Path()))
	}
	variables := laptopVariables(o.Dir)
	if o.StoreAdministrator {
		maps.Copy(variables, info.StoreAdministrator)
		return shellenv.Write(o.Out, variables)
	}
	key, named := o.secret(info)
	if !named && o.Granted == "" {
		return shellenv.Write(o.Out, variables)
	}
	c, err := clientOf(o.Dir.Kubeconfig())
	if err != nil {
		return err
	}
	grants := map[string]string{}
	missing := error(nil)
	if named {
		missing = addSecret(ctx, c, key, grants)
		if missing != nil && !apierrors.IsNotFound(missing) {
			return missing
		}
		addEndpoint(info, grants)
	}
	unset, err := settle(ctx, c, o.Granted, key, grants)
	if err != nil {
		return err
	}
	maps.Copy(variables, grants)
	if err := errors.Join(shellenv.Unset(o.Out, unset), shellenv.Write(o.Out, variables)); err != nil {
		return err
	}
	if missing != nil && o.Secret == "" {
		// The sample's access was deleted. The variables for the API server are still useful.
		fmt.Fprintf(o.Notes, "cooper: %v\n", missing)
		return nil
	}
	return missing
}

// secret returns the requested access Secret, if any.
func (o EnvironmentOptions) secret(info rundir.Info) (types.NamespacedName, bool) {
	key := types.NamespacedName{Namespace: o.Namespace, Name: o.Secret}
	if key.Namespace == "" {
		key.Namespace = info.Namespace
	}
	if key.Name == "" && len(info.Secrets) > 0 {
		key.Name = info.Secrets[0]
	}
	return key, key.Name != ""
}

// laptopVariables returns the variables for access to the API server.
func laptopVariables(dir rundir.Dir) map[string]string {
	return map[string]string{
		"KUBECONFIG": dir.Kubeconfig(),
		// kubectl's cache is not valid for another API server.
		"KUBECACHEDIR": dir.KubectlCache(),
		"PATH":         withDirectory(os.Getenv("PATH"), dir.Bin()),
	}
}

// withDirectory prepends a directory to a PATH. Repeated evaluation adds it only once.
func withDirectory(path, directory string) string {
	directories := []string{directory}
	for _, other := range filepath.SplitList(path) {
		if other != directory {
			directories = append(directories, other)
		}
	}
	return strings.Join(directories, string(os.PathListSeparator))
}

// addSecret adds the keys of an access Secret.
func addSecret(ctx context.Context, c client.Client, key types.NamespacedName, variables map[string]string) error {
	secret := &corev1.Secret{}
	err := c.Get(ctx, key, secret)
	if apierrors.IsNotFound(err) {
		return fmt.Errorf("Secret %s does not exist; to check whether its access is provisioned, run kubectl get bucketaccess -n %s: %w", key, key.Namespace, err)
	}
	if err != nil {
		return fmt.Errorf("read Secret %s: %w", key, err)
	}
	for name, value := range secret.Data {
		variables[name] = string(value)
	}
	return nil
}

const (
	// gcsName is the name of the Google Cloud fake in the report.
	gcsName = "Cloud Storage and IAM"
	// gcsEndpointKey is an additional variable for GCS. The access Secret has no URL because clients have
	// Google's built in; they need the URL of a fake.
	gcsEndpointKey = "GCS_ENDPOINT_URL"
)

// addEndpoint adds the URL that is missing from a GCS access Secret.
func addEndpoint(info rundir.Info, variables map[string]string) {
	if variables[secretkeys.Protocol] == string(cosiapi.ProtocolGCS) {
		variables[gcsEndpointKey] = info.Services[gcsName]
	}
}

// awaitCurrent waits until an access Secret names an endpoint of this run. A Secret from an earlier run
// contains the old endpoint until the sidecar updates it.
func (r *running) awaitCurrent(ctx context.Context, key types.NamespacedName) error {
	served := map[string]bool{}
	for _, s := range r.stores {
		served[s.url] = true
	}
	endpoint := ""
	err := wait.PollUntilContextTimeout(ctx, secretPoll, r.options.SampleTimeout, true, func(ctx context.Context) (bool, error) {
		variables := map[string]string{}
		if err := addSecret(ctx, r.system.Client(), key, variables); err != nil {
			return false, err
		}
		endpoint = variables[endpointKey]
		return endpoint == "" || served[endpoint], nil
	})
	if err != nil {
		return fmt.Errorf("Secret %s still contains the endpoint %q of an earlier run: %w; see %s",
			key, endpoint, err, r.options.Dir.Log())
	}
	return nil
}

func clientConfig(kubeconfig string) (*rest.Config, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("read kubeconfig %s: %w", kubeconfig, err)
	}
	return config, nil
}
