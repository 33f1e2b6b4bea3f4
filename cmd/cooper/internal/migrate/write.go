// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"unicode"

	"sigs.k8s.io/controller-runtime/pkg/client"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/reconciler"
)

// A step is a step of the plan: what to do, why, and the commands. A step without commands is either done or
// needs the administrator's judgement.
type step struct {
	done     bool
	title    string
	commands []string
	notes    []string
}

// after removes the commands of a step until the given other steps are done, where the order is more
// important than a complete list.
func (s step) after(which string, others ...step) step {
	for _, other := range others {
		if !other.done && len(s.commands) > 0 {
			s.commands = nil
			s.notes = append(s.notes, "The commands are printed after "+which+" done.")
		}
	}
	return s
}

// write prints the plan and the manifests.
func (p plan) write(to io.Writer, o Options, backup olds, now *cluster) error {
	var text strings.Builder
	comment(&text, " Plan to migrate the buckets of driver %s from COSI v1alpha1 to v1alpha2, based on %s. Nothing was changed. Run this again after each step.", o.From, o.Backup)
	for _, driver := range slices.Sorted(maps.Keys(p.others)) {
		comment(&text, " Step 4 also deletes %d Buckets of driver %s. Plan their migration from the same backup: --from %s", p.others[driver], driver, driver)
	}
	for i, s := range p.steps(o, backup, now) {
		comment(&text, "")
		comment(&text, " %d. %s%s", i+1, done(s.done), s.title)
		for _, note := range s.notes {
			comment(&text, "    %s", note)
		}
		for _, command := range s.commands {
			comment(&text, "      %s", command)
		}
	}
	text.WriteString("#\n# Claims:\n")
	var manifests []client.Object
	for _, m := range p.claims {
		m.describe(&text)
		if m.skip != "" {
			continue
		}
		manifests = append(manifests, m.bucket, m.made)
		for _, a := range m.accesses {
			if a.skip == "" {
				manifests = append(manifests, a.made)
			}
		}
	}
	for _, bucket := range p.unclaimed {
		comment(&text, "    Bucket %s (%q in the store) is skipped: it has no claim. To use it, import it manually.", bucket.GetName(), bucket.Status.BucketID)
	}
	for _, access := range p.lost {
		comment(&text, "    access %s is skipped: its claim %q is not in the backup.", access.key(), access.Spec.BucketClaimName)
	}
	for _, object := range manifests {
		manifest, err := reconciler.Manifest(object)
		if err != nil {
			return fmt.Errorf("write the manifests: %w", err)
		}
		text.WriteString("---\n" + manifest)
	}
	_, err := io.WriteString(to, text.String())
	return err
}

// comment writes one comment line. It escapes line breaks in tenants' text, because users pass the commands
// of the plan to a shell.
func comment(text *strings.Builder, format string, args ...any) {
	line := strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, fmt.Sprintf(format, args...))
	text.WriteString("#" + line + "\n")
}

func done(is bool) string {
	if is {
		return "(done) "
	}
	return ""
}

// describe prints the migration of a claim and its accesses.
func (m *claimMove) describe(text *strings.Builder) {
	if m.skip != "" {
		comment(text, "    %s is skipped: %s.", m.claim.key(), m.skip)
	} else {
		comment(text, "    %s%s uses bucket %q in the store, with Bucket %s.", done(m.done), m.claim.key(), m.was.Status.BucketID, m.bucket.Name)
		for _, note := range m.notes {
			comment(text, "      Note: %s.", note)
		}
	}
	for _, a := range m.accesses {
		if a.skip != "" {
			comment(text, "      access %s is skipped: %s.", a.access.GetName(), a.skip)
			continue
		}
		comment(text, "      %saccess %s has account %q in Secret %s, and gets a new credential in Secret %s.",
			done(a.done), a.access.GetName(), a.access.Status.AccountID, a.access.Spec.SecretName, a.made.Spec.BucketClaims[0].AccessSecretName)
	}
}

// steps returns all steps in order.
func (p plan) steps(o Options, backup olds, now *cluster) []step {
	gone := len(now.oldCRDs) == 0
	elsewhere := []string(nil)
	if gone {
		elsewhere = []string{"This cluster does not have v1alpha1. If another cluster still does, plan this step and the next one there with --kubeconfig."}
	}
	policies, stopped, secrets, removed := now.keepData(), now.stop(), now.keepSecrets(backup), now.remove()
	policies.notes = append(policies.notes, elsewhere...)
	applied, retired := p.apply(), p.retire(now)
	return []step{
		policies, stopped, secrets, removed.after("steps 1, 2 and 3 are", policies, stopped, secrets),
		now.install(o), applied, p.point(now), retired.after("step 6 is", applied),
	}
}

// qualified returns the full name of a v1alpha1 resource for kubectl. Other API groups may have a resource of
// the same short name.
func qualified(resource string) string { return resource + "." + oldVersion + "." + cosiapi.GroupName }

func (now *cluster) keepData() step {
	s := step{title: "Set the deletion policy of all v1alpha1 Buckets to Retain. Otherwise, deleting a Bucket or its claim deletes the data."}
	for _, bucket := range now.old["Bucket"] {
		if bucket.Spec.Policy != string(cosiapi.DeletionPolicyRetain) {
			s.commands = append(s.commands, fmt.Sprintf(`kubectl patch %s %s --type=merge -p '{"spec":{"deletionPolicy":"Retain"}}'`, qualified("buckets"), bucket.GetName()))
		}
	}
	s.done = len(s.commands) == 0
	return s
}

func (now *cluster) stop() step {
	s := step{title: "Stop the v1alpha1 controller and the sidecars of all v1alpha1 drivers, which revoke credentials when accesses are deleted."}
	for _, workload := range now.workloads {
		s.commands = append(s.commands, "kubectl "+workload)
	}
	if len(now.pods) > 0 {
		s.notes = append(s.notes, "Pods that run them: "+strings.Join(now.pods, ", "))
	}
	s.done = len(s.commands) == 0 && len(now.pods) == 0
	if s.done {
		s.notes = append(s.notes, "No image name of a Pod contains "+strings.Join(programs, " or ")+". If your vendor uses other names, make sure that none of them runs.")
	}
	return s
}

// keepSecrets is the step that protects Secrets from garbage collection when the accesses that own them are
// deleted.
func (now *cluster) keepSecrets(backup olds) step {
	s := step{title: "Remove the owner references of the old Secrets. Otherwise, they are deleted with their v1alpha1 accesses."}
	for _, access := range backup["BucketAccess"] {
		secret := now.secrets[key(access.GetNamespace(), access.Spec.SecretName)]
		if secret == nil {
			continue
		}
		for i, owner := range slices.Backward(secret.OwnerReferences) {
			// A tenant may have written any text into the reference, and a shell evaluates the command. The
			// UID of an object contains no quotes.
			if strings.HasPrefix(owner.APIVersion, cosiapi.GroupName+"/") && !strings.ContainsAny(string(owner.UID), `'"\`) {
				s.commands = append(s.commands, fmt.Sprintf(`kubectl -n %s patch secret %s --type=json -p '[{"op":"test","path":"/metadata/ownerReferences/%d/uid","value":%q},{"op":"remove","path":"/metadata/ownerReferences/%d"}]'`,
					secret.Namespace, secret.Name, i, owner.UID, i))
			}
		}
	}
	s.done = len(s.commands) == 0
	return s
}

// remove is the step that deletes the old CRDs. The API server rejects a CRD of v1alpha2 while the old one
// stores v1alpha1.
func (now *cluster) remove() step {
	s := step{
		title: "Delete the v1alpha1 CRDs and their objects, which the backup contains.",
		notes: []string{
			"After steps 1 to 3 this is safe: no running component would delete a bucket or an account in the store.",
			"The finalizers must be removed first, because the controller and the sidecars, which remove them, are stopped.",
		},
	}
	for _, resource := range now.oldCRDs {
		for _, one := range now.old[oldKinds[resource]] {
			if len(one.GetFinalizers()) == 0 {
				continue
			}
			namespace := ""
			if one.GetNamespace() != "" {
				namespace = "-n " + one.GetNamespace() + " "
			}
			s.commands = append(s.commands, fmt.Sprintf(`kubectl %spatch %s %s --type=merge -p '{"metadata":{"finalizers":null}}'`, namespace, qualified(resource), one.GetName()))
		}
	}
	for _, resource := range now.oldCRDs { // deleted by Kubernetes once its finalizer is removed
		s.commands = append(s.commands, fmt.Sprintf("kubectl delete crd %s.%s --ignore-not-found", resource, cosiapi.GroupName))
	}
	s.done = len(now.oldCRDs) == 0
	return s
}

func (now *cluster) install(o Options) step {
	s := step{
		title: fmt.Sprintf("Install COSI v1alpha2 and driver %s, and create the classes of the new accesses.", o.Driver),
		done:  len(now.newCRDs) == len(oldKinds),
	}
	for _, name := range slices.Compact(slices.Sorted(maps.Values(o.AccessClasses))) {
		if now.classes[name] == nil {
			s.done = false
			s.notes = append(s.notes, fmt.Sprintf("The v1alpha2 BucketAccessClass %s does not exist yet.", name))
		}
	}
	if len(now.newCRDs) < len(oldKinds) {
		s.commands = []string{"kubectl apply --server-side -k deploy"}
	}
	return s
}

func (p plan) apply() step {
	s := step{title: "Apply this file, and wait until the claims and accesses are provisioned. Each access has the mode ReadWrite; restrict it where possible.", done: true}
	for _, m := range p.claims {
		if m.skip != "" {
			continue
		}
		s.done = s.done && m.done
		namespace := "-n " + m.claim.GetNamespace()
		names := []string{"bucketclaims." + cosiapi.GroupName + "/" + m.claim.GetName()}
		for _, a := range m.accesses {
			if a.skip == "" {
				s.done = s.done && a.done
				names = append(names, "bucketaccesses."+cosiapi.GroupName+"/"+a.made.Name)
			}
		}
		s.commands = append(s.commands, fmt.Sprintf("kubectl %s wait --for=condition=Provisioned --timeout=5m %s", namespace, strings.Join(names, " ")))
	}
	return s
}

// point is the step that switches applications to the new Secrets. Only the owner of an application can
// verify that it reads the right one.
func (p plan) point(now *cluster) step {
	s := step{title: "Switch applications to the new Secrets, which have a key for each value. The old ones have one key, BucketInfo, with JSON."}
	for _, a := range p.moved() {
		old := key(a.access.GetNamespace(), a.access.Spec.SecretName)
		if pods := now.users[old]; len(pods) > 0 {
			s.notes = append(s.notes, fmt.Sprintf("Secret %s is used by Pods %s.", old, strings.Join(pods, ", ")))
		}
	}
	return s
}

// retire is the step that revokes the old credentials.
func (p plan) retire(now *cluster) step {
	s := step{
		title: "When an old Secret is no longer in use, delete it, and delete its account with the store's own tools. Until then both credentials work.",
		done:  true,
	}
	for _, a := range p.moved() {
		secret := now.secrets[key(a.access.GetNamespace(), a.access.Spec.SecretName)]
		if secret == nil {
			continue
		}
		s.done = false
		s.notes = append(s.notes, fmt.Sprintf("Secret %s/%s belongs to account %q.", secret.Namespace, secret.Name, a.access.Status.AccountID))
		if len(secret.Finalizers) > 0 {
			s.commands = append(s.commands, fmt.Sprintf(`kubectl -n %s patch secret %s --type=merge -p '{"metadata":{"finalizers":null}}'`, secret.Namespace, secret.Name))
		}
		s.commands = append(s.commands, fmt.Sprintf("kubectl -n %s delete secret %s", secret.Namespace, secret.Name))
	}
	return s
}

// moved returns the accesses in the manifests.
func (p plan) moved() []*accessMove {
	var all []*accessMove
	for _, m := range p.claims {
		for _, a := range m.accesses {
			if a.skip == "" {
				all = append(all, a)
			}
		}
	}
	return all
}
