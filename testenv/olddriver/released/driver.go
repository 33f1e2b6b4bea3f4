// SPDX-License-Identifier: Apache-2.0

// Package released is a driver of COSI v1alpha1 that behaves as the released drivers of vendors do, not as the
// specification requires. It serves tests of the components that use such drivers.
//
//   - When it deletes a bucket or revokes an access, it reads the parameters from the v1alpha1 Bucket object, which it
//     gets from the Kubernetes API by the bucket's ID.
//   - The parameters name the Secret with the administrator's credential for the store.
//   - Every failure has the code Internal.
//   - A repeated creation succeeds regardless of its parameters, and each grant creates another key.
//   - IDs are equal to the requested names.
package released

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/cooper-cosi/cooper/internal/unixsocket"
	"github.com/cooper-cosi/cooper/proto/v1alpha1"
)

// Parameters of buckets and accesses, and the keys of the Secret that they name.
const (
	SecretName      = "secretName"
	SecretNamespace = "secretNamespace"

	AccessKeyID     = "accessKeyID"
	SecretAccessKey = "secretAccessKey"
)

// Options configure a driver. All fields except AfterEffect are required.
type Options struct {
	Name string
	// Endpoint is the address of the socket, such as unix:///run/driver.sock.
	Endpoint string
	// Store is the backend. Drivers that are started one after the other can have the same store.
	Store *Store
	// KubernetesHost, KubernetesPort and AccountDir replace the variables KUBERNETES_SERVICE_HOST and
	// KUBERNETES_SERVICE_PORT and the directory /var/run/secrets/kubernetes.io/serviceaccount of a Pod.
	KubernetesHost, KubernetesPort, AccountDir string
	// AfterEffect is called with the name of a call after its effect in the store and before its response, such as
	// "DriverCreateBucket". A test can block it to make the driver slow. The context ends when the driver is killed.
	AfterEffect func(ctx context.Context, call string)
}

// driver implements both services of the contract.
type driver struct {
	v1alpha1.UnimplementedProvisionerServer
	v1alpha1.UnimplementedIdentityServer

	options Options
	core    kubernetes.Interface
	buckets dynamic.ResourceInterface
}

// Start serves a driver until kill is called. kill does not wait for responses to running calls. Start fails if there
// is no service account, as in a Pod.
func Start(ctx context.Context, o Options) (kill func(), err error) {
	d := &driver{options: o}
	config, err := o.inClusterConfig()
	if err != nil {
		return nil, err
	}
	d.core, err = kubernetes.NewForConfig(config)
	all, other := dynamic.NewForConfig(config)
	if err := errors.Join(err, other); err != nil {
		return nil, fmt.Errorf("configure the clients: %w", err)
	}
	d.buckets = all.Resource(schema.GroupVersionResource{Group: "objectstorage.k8s.io", Version: "v1alpha1", Resource: "buckets"})
	listener, err := unixsocket.Listen(ctx, o.Endpoint, 0o660)
	if err != nil {
		return nil, err
	}
	server := grpc.NewServer(grpc.UnaryInterceptor(d.intercept))
	v1alpha1.RegisterIdentityServer(server, d)
	v1alpha1.RegisterProvisionerServer(server, d)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = server.Serve(listener) // it ends by Stop
	}()
	return func() { server.Stop(); <-ended }, nil
}

// inClusterConfig returns what rest.InClusterConfig returns in a Pod, without the client's rate limit.
func (o Options) inClusterConfig() (*rest.Config, error) {
	tokenFile := filepath.Join(o.AccountDir, "token")
	token, err := os.ReadFile(tokenFile)
	if err != nil {
		return nil, fmt.Errorf("read the token of the service account: %w", err)
	}
	return &rest.Config{
		Host: "https://" + net.JoinHostPort(o.KubernetesHost, o.KubernetesPort), BearerToken: string(token), BearerTokenFile: tokenFile, QPS: -1,
		TLSClientConfig: rest.TLSClientConfig{CAFile: filepath.Join(o.AccountDir, "ca.crt")},
	}, nil
}

// intercept converts every error to Internal.
func (d *driver) intercept(ctx context.Context, request any, info *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
	response, err := handle(ctx, request)
	if d.options.AfterEffect != nil {
		d.options.AfterEffect(ctx, filepath.Base(info.FullMethod))
	}
	if err != nil {
		return nil, status.Error(codes.Internal, err.Error())
	}
	return response, nil
}

// login reads the Secret that the parameters name and returns an error if the store refuses its credential.
func (d *driver) login(ctx context.Context, parameters map[string]string) error {
	secret, err := d.core.CoreV1().Secrets(parameters[SecretNamespace]).Get(ctx, parameters[SecretName], metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("failed to get the Secret: %w", err)
	}
	return d.options.Store.login(string(secret.Data[AccessKeyID]), string(secret.Data[SecretAccessKey]))
}

// loginFor is login with the parameters of a Bucket object.
func (d *driver) loginFor(ctx context.Context, bucket string) error {
	object, err := d.buckets.Get(ctx, bucket, metav1.GetOptions{})
	if err != nil {
		return errors.New("failed to get the bucket object")
	}
	parameters, _, err := unstructured.NestedStringMap(object.Object, "spec", "parameters")
	if err != nil {
		return fmt.Errorf("read the parameters of the bucket object: %w", err)
	}
	return d.login(ctx, parameters)
}

// DriverGetInfo implements v1alpha1.IdentityServer.
func (d *driver) DriverGetInfo(context.Context, *v1alpha1.DriverGetInfoRequest) (*v1alpha1.DriverGetInfoResponse, error) {
	return &v1alpha1.DriverGetInfoResponse{Name: d.options.Name}, nil
}

// DriverCreateBucket implements v1alpha1.ProvisionerServer.
func (d *driver) DriverCreateBucket(ctx context.Context, r *v1alpha1.DriverCreateBucketRequest) (*v1alpha1.DriverCreateBucketResponse, error) {
	if err := d.login(ctx, r.GetParameters()); err != nil {
		return nil, err
	}
	return &v1alpha1.DriverCreateBucketResponse{BucketId: r.GetName()}, d.options.Store.createBucket(r.GetName())
}

// DriverDeleteBucket implements v1alpha1.ProvisionerServer.
func (d *driver) DriverDeleteBucket(ctx context.Context, r *v1alpha1.DriverDeleteBucketRequest) (*v1alpha1.DriverDeleteBucketResponse, error) {
	if err := d.loginFor(ctx, r.GetBucketId()); err != nil {
		return nil, err
	}
	d.options.Store.deleteBucket(r.GetBucketId())
	return &v1alpha1.DriverDeleteBucketResponse{}, nil
}

// DriverGrantBucketAccess implements v1alpha1.ProvisionerServer.
func (d *driver) DriverGrantBucketAccess(ctx context.Context, r *v1alpha1.DriverGrantBucketAccessRequest) (*v1alpha1.DriverGrantBucketAccessResponse, error) {
	if err := d.login(ctx, r.GetParameters()); err != nil {
		return nil, err
	}
	key, secret, err := d.options.Store.createKey(r.GetName())
	return &v1alpha1.DriverGrantBucketAccessResponse{
		AccountId: r.GetName(),
		Credentials: map[string]*v1alpha1.CredentialDetails{v1alpha1.ProtocolS3: {Secrets: map[string]string{
			v1alpha1.KeyAccessKeyID: key, v1alpha1.KeyAccessSecretKey: secret,
			v1alpha1.KeyEndpoint: "https://store.vendor.example", v1alpha1.KeyRegion: "us-east-1",
		}}},
	}, err
}

// DriverRevokeBucketAccess implements v1alpha1.ProvisionerServer.
func (d *driver) DriverRevokeBucketAccess(ctx context.Context, r *v1alpha1.DriverRevokeBucketAccessRequest) (*v1alpha1.DriverRevokeBucketAccessResponse, error) {
	if err := d.loginFor(ctx, r.GetBucketId()); err != nil {
		return nil, err
	}
	return &v1alpha1.DriverRevokeBucketAccessResponse{}, d.options.Store.deleteAccount(r.GetAccountId())
}
