// SPDX-License-Identifier: Apache-2.0

package sidecar

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/go-logr/logr"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	coordinationclient "k8s.io/client-go/kubernetes/typed/coordination/v1"
	coreclient "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/ctrlmanager"
	"github.com/cooper-cosi/cooper/internal/metrics"
	"github.com/cooper-cosi/cooper/internal/reconciler"
)

// OwnerAnnotation on the Lease of a driver name is the deployment that owns the name. The first holder of the Lease
// sets it. To transfer the name to another deployment, an administrator removes the annotation.
const OwnerAnnotation = cosiapi.LeaseOwnerAnnotation

// foreverSeconds is the lease duration reported while another deployment owns the name.
const foreverSeconds = 24 * 60 * 60

// LeaseName returns the name of the Lease for leader election between the sidecars of one driver. It also assigns the
// driver name to one deployment.
func LeaseName(driverName string) string { return cosiapi.LeaseNameFor(driverName) }

// lease is the lock of the leader election. Unlike the lock of client-go, it checks the owner of the driver name.
// While that is another deployment, it reports the Lease as held, even if it has expired, so the election never
// acquires it.
type lease struct {
	name, identity, owner string
	driverName            string
	leases                coordinationclient.LeaseInterface
	events                coreclient.EventInterface
	metrics               *metrics.Sidecar
	log                   logr.Logger

	mu       sync.Mutex
	current  *coordinationv1.Lease
	reported string // last foreign owner that was reported
}

func newLease(config *rest.Config, o ManagerOptions) (*lease, error) {
	if o.Owner == "" {
		return nil, errors.New("ManagerOptions.Owner is not set: pass the namespace and name of the deployment, such as store/s3-driver")
	}
	identity := o.Identity
	if identity == "" {
		var err error
		if identity, err = ctrlmanager.Identity(); err != nil {
			return nil, err
		}
	}
	m, err := metrics.NewSidecar(o.Sidecar.Registerer)
	if err != nil {
		return nil, err
	}
	clients, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("create a client for the Lease: %w", err)
	}
	name := o.Sidecar.Driver.Name()
	return &lease{
		name: LeaseName(name), identity: identity, owner: o.Owner, driverName: name, metrics: m, log: o.Logger,
		leases: clients.CoordinationV1().Leases(o.LeaderNamespace), events: clients.CoreV1().Events(o.LeaderNamespace),
	}, nil
}

// Get implements resourcelock.Interface.
func (l *lease) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	found, err := l.leases.Get(ctx, l.name, metav1.GetOptions{})
	if err != nil {
		return nil, nil, err //nolint:wrapcheck // the election recognizes a missing Lease by this error
	}
	l.mu.Lock()
	l.current = found
	l.mu.Unlock()
	record := resourcelock.LeaseSpecToLeaderElectionRecord(&found.Spec)
	if owner := found.Annotations[OwnerAnnotation]; owner != "" && owner != l.owner {
		l.refuse(ctx, found, owner)
		record.HolderIdentity = "the deployment " + owner
		record.LeaseDurationSeconds = foreverSeconds
		// A record that changes counts as renewed.
		record.RenewTime = metav1.Now()
	} else {
		l.accept()
	}
	raw, err := json.Marshal(record)
	if err != nil {
		return nil, nil, fmt.Errorf("encode the record of Lease %q: %w", l.name, err)
	}
	return record, raw, nil
}

// Create implements resourcelock.Interface.
func (l *lease) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	made, err := l.leases.Create(ctx, &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Name: l.name, Annotations: map[string]string{OwnerAnnotation: l.owner}},
		Spec:       resourcelock.LeaderElectionRecordToLeaseSpec(&record),
	}, metav1.CreateOptions{})
	if apierrors.IsForbidden(err) {
		return fmt.Errorf("Lease %q does not exist, and this account does not have permission to create it: an administrator must apply the Lease and its Role "+
			"from the manifests of the driver: %w", l.name, err)
	}
	return l.store(made, err)
}

// Update implements resourcelock.Interface. It fails with a conflict if the Lease has changed since Get, for example
// because it has another owner.
func (l *lease) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	l.mu.Lock()
	current := l.current.DeepCopy()
	l.mu.Unlock()
	if current == nil {
		return fmt.Errorf("Lease %q has not been read yet", l.name)
	}
	current.Spec = resourcelock.LeaderElectionRecordToLeaseSpec(&record)
	metav1.SetMetaDataAnnotation(&current.ObjectMeta, OwnerAnnotation, l.owner)
	made, err := l.leases.Update(ctx, current, metav1.UpdateOptions{})
	return l.store(made, err)
}

func (l *lease) store(made *coordinationv1.Lease, err error) error {
	if err != nil {
		return fmt.Errorf("write Lease %q: %w", l.name, err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.current = made
	return nil
}

// RecordEvent implements resourcelock.Interface.
func (l *lease) RecordEvent(message string) {
	l.log.Info("Leader election", "lease", l.name, "identity", l.identity, "what", message)
}

// Identity implements resourcelock.Interface.
func (l *lease) Identity() string { return l.identity }

// Describe implements resourcelock.Interface.
func (l *lease) Describe() string { return l.name }

// refuse reports, once for each owner, why this instance stays passive.
func (l *lease) refuse(ctx context.Context, found *coordinationv1.Lease, owner string) {
	l.metrics.NameTaken(l.driverName, true)
	l.mu.Lock()
	known := l.reported == owner
	l.reported = owner
	l.mu.Unlock()
	if known {
		return
	}
	message := fmt.Sprintf("The driver name %q belongs to the deployment %q, so the sidecar of %q is passive. Rename the driver. Or, "+
		"to move the name to %q, remove the annotation %s from Lease %q in namespace %q.",
		l.driverName, owner, l.owner, l.owner, OwnerAnnotation, found.Name, found.Namespace)
	l.log.Info("The driver name belongs to another deployment", "reason", message)
	now := metav1.NewTime(time.Now())
	_, err := l.events.CreateWithEventNamespaceWithContext(ctx, &corev1.Event{
		ObjectMeta: metav1.ObjectMeta{GenerateName: found.Name + ".", Namespace: found.Namespace},
		InvolvedObject: corev1.ObjectReference{
			APIVersion: coordinationv1.SchemeGroupVersion.String(), Kind: "Lease", Namespace: found.Namespace, Name: found.Name, UID: found.UID,
		},
		Type: corev1.EventTypeWarning, Reason: string(reconciler.DriverNameTaken), Message: message, Action: "AcquireLease",
		FirstTimestamp: now, LastTimestamp: now, Count: 1,
		Source: corev1.EventSource{Component: "cosi-" + component}, ReportingController: "cosi-" + component, ReportingInstance: l.identity,
	})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		l.log.Info("Cannot record an Event", "reason", err.Error())
	}
}

func (l *lease) accept() {
	l.metrics.NameTaken(l.driverName, false)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.reported = ""
}
