// SPDX-License-Identifier: Apache-2.0

package uninstall

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/reconciler"
)

// Options select the objects to check before an uninstallation.
type Options struct {
	// Driver is the name of the driver to uninstall; empty means all of COSI.
	Driver string
	// Namespaces are the namespaces to search for accesses and claims; none means all.
	Namespaces []string
}

// shown is how many objects of a kind are listed. The output is for users, in the log of a hook.
const shown = 20

// pageSize is the page size of list requests.
const pageSize = 100

// Check returns nil or an error that lists the objects that would be orphaned and says what to do. An API
// server without the API group of COSI has no such objects.
func Check(ctx context.Context, config *rest.Config, o Options) error {
	scheme, err := reconciler.NewScheme()
	if err != nil {
		return fmt.Errorf("register the API types: %w", err)
	}
	c, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return fmt.Errorf("cannot reach the API server: %w", err)
	}
	there, err := known(config)
	if err != nil || !there {
		return err
	}
	namespaces := o.Namespaces
	if len(namespaces) == 0 {
		namespaces = []string{""}
	}
	l := look{client: c, driver: o.Driver}
	for _, namespace := range namespaces {
		err = errors.Join(err, l.accesses(ctx, namespace))
		if o.Driver == "" { // a bucket that a driver created for a claim has a Bucket
			err = errors.Join(err, l.claims(ctx, namespace))
		}
	}
	if err := errors.Join(err, l.buckets(ctx)); err != nil {
		return err
	}
	return l.verdict()
}

// A look is the result, with a line for each object.
type look struct {
	client client.Client
	driver string

	foundAccesses, foundClaims, foundBuckets []string
}

func (l *look) accesses(ctx context.Context, namespace string) error {
	return pages(ctx, l.client, namespace, func() *cosiapi.BucketAccessList { return &cosiapi.BucketAccessList{} }, func(list *cosiapi.BucketAccessList) {
		for _, access := range list.Items {
			if l.driver == "" || access.Status.DriverName == l.driver {
				l.foundAccesses = append(l.foundAccesses, access.Namespace+"/"+access.Name)
			}
		}
	})
}

func (l *look) claims(ctx context.Context, namespace string) error {
	return pages(ctx, l.client, namespace, func() *cosiapi.BucketClaimList { return &cosiapi.BucketClaimList{} }, func(list *cosiapi.BucketClaimList) {
		for _, claim := range list.Items {
			l.foundClaims = append(l.foundClaims, claim.Namespace+"/"+claim.Name)
		}
	})
}

func (l *look) buckets(ctx context.Context) error {
	return pages(ctx, l.client, "", func() *cosiapi.BucketList { return &cosiapi.BucketList{} }, func(list *cosiapi.BucketList) {
		for _, bucket := range list.Items {
			if l.driver == "" || bucket.Spec.DriverName == l.driver {
				of, state := bucket.Spec.BucketClaimRef, ""
				if bucket.DeletionTimestamp != nil {
					state = ", being deleted"
				}
				l.foundBuckets = append(l.foundBuckets, fmt.Sprintf("%s of claim %s/%s, deletionPolicy %s%s", bucket.Name, of.Namespace, of.Name, bucket.Spec.DeletionPolicy, state))
			}
		}
	})
}

// known reports whether the API server has COSI's API group in any version. If so, a kind that it does not
// serve in this program's version may still have objects.
func known(config *rest.Config) (bool, error) {
	c, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return false, fmt.Errorf("cannot reach the API server: %w", err)
	}
	list, err := c.ServerGroups()
	if err == nil && len(list.Groups) == 0 { // the server returned none to this user
		err = errors.New("the API server returned no API groups")
	}
	if err != nil {
		return false, fmt.Errorf("list the API groups: %w", err)
	}
	return slices.ContainsFunc(list.Groups, func(g metav1.APIGroup) bool { return g.Name == cosiapi.GroupName }), nil
}

// pages lists objects page by page, because the Pod of the hook has little memory.
func pages[L client.ObjectList](ctx context.Context, c client.Client, namespace string, empty func() L, each func(L)) error {
	for next := ""; ; {
		list := empty()
		err := c.List(ctx, list, client.InNamespace(namespace), client.Limit(pageSize), client.Continue(next))
		if err != nil {
			where := "in all namespaces"
			if namespace != "" {
				where = "in the namespace " + namespace
			}
			return fmt.Errorf("cannot list the objects that would be orphaned %s: %w", where, err)
		}
		each(list)
		if next = list.GetContinue(); next == "" {
			return nil
		}
	}
}

func (l *look) verdict() error {
	if len(l.foundAccesses)+len(l.foundClaims)+len(l.foundBuckets) == 0 {
		return nil
	}
	who := "COSI"
	if l.driver != "" {
		who = "the driver " + l.driver
	}
	var text strings.Builder
	fmt.Fprintf(&text, "without %s, the following objects would be orphaned: their credentials would not be revoked, their buckets would not be deleted, and their finalizers would not be removed:\n", who)
	for _, kind := range []struct {
		name    string
		objects []string
	}{{"BucketAccess", l.foundAccesses}, {"BucketClaim", l.foundClaims}, {"Bucket", l.foundBuckets}} {
		for i, object := range kind.objects {
			if i == shown {
				fmt.Fprintf(&text, "  and %d more of kind %s\n", len(kind.objects)-shown, kind.name)
				break
			}
			fmt.Fprintf(&text, "  %s %s\n", kind.name, object)
		}
	}
	text.WriteString("Delete the accesses and then the claims, and wait until they no longer exist. A Bucket with deletionPolicy Retain remains after its claim:\n" +
		"kubectl delete buckets.objectstorage.k8s.io NAME keeps the bucket and its data in the store. To see why a Bucket is stuck in deletion,\n" +
		"for example because it is not empty, run kubectl describe buckets.objectstorage.k8s.io NAME. To uninstall anyway, run\n" +
		"helm uninstall --no-hooks. The credentials then continue to work, and the objects cannot be deleted before the next installation")
	return errors.New(text.String())
}
