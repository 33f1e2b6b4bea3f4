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
			s.notes = append(s.notes, "Its commands are printed when "+which+" done.")
		}
	}
	return s
}

// write prints the plan and the manifests.
func (p plan) write(to io.Writer, o Options, backup olds, now *cluster) error {
	var text strings.Builder
	comment(&text, " The buckets of driver %s move from COSI v1alpha1 to v1alpha2, as %s says. Nothing was changed. Ask again after each step.", o.From, o.Backup)
	for _, driver := range slices.Sorted(maps.Keys(p.others)) {
		comment(&text, " %d more of driver %s go with step 4, too. Plan them from the same backup: --from %s", p.others[driver], driver, driver)
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
	text.WriteString("#\n# What becomes of each claim:\n")
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
		comment(&text, "    Bucket %s (%q in the store) has no claim: nothing is planned for it. Import it by hand to hand it out.", bucket.GetName(), bucket.Status.BucketID)
	}
	for _, access := range p.lost {
		comment(&text, "    access %s is left out: its claim %q is not in the backup.", access.key(), access.Spec.BucketClaimName)
	}
	for _, object := range manifests {
		manifest, err := reconciler.Manifest(object)
		if err != nil {
			return fmt.Errorf("manifest: %w", err)
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
		comment(text, "    %s is left out: %s.", m.claim.key(), m.skip)
	} else {
		comment(text, "    %s%s has %q in the store, by Bucket %s.", done(m.done), m.claim.key(), m.was.Status.BucketID, m.bucket.Name)
		for _, note := range m.notes {
			comment(text, "      Look: %s.", note)
		}
	}
	for _, a := range m.accesses {
		if a.skip != "" {
			comment(text, "      access %s is left out: %s.", a.access.GetName(), a.skip)
			continue
		}
		comment(text, "      %saccess %s has account %q, by Secret %s, and gets a credential of its own in Secret %s.",
			done(a.done), a.access.GetName(), a.access.Status.AccountID, a.access.Spec.SecretName, a.made.Spec.BucketClaims[0].AccessSecretName)
	}
}

// steps returns all steps in order.
func (p plan) steps(o Options, backup olds, now *cluster) []step {
	gone := len(now.oldCRDs) == 0
	elsewhere := []string(nil)
	if gone {
		elsewhere = []string{"This cluster has no v1alpha1. If another one has it still, ask there for this step and the next: --kubeconfig."}
	}
	policies, stopped, secrets, removed := now.keepData(), now.stop(), now.keepSecrets(backup), now.remove()
	policies.notes = append(policies.notes, elsewhere...)
	applied, retired := p.apply(), p.retire(now)
	return []step{
		policies, stopped, secrets, removed.after("1, 2 and 3 are", policies, stopped, secrets),
		now.install(o), applied, p.point(now), retired.after("6 is", applied),
	}
}

// qualified returns the full name of a v1alpha1 resource for kubectl. Other API groups may have a resource of
// the same short name.
func qualified(resource string) string { return resource + "." + oldVersion + "." + cosiapi.GroupName }

func (now *cluster) keepData() step {
	s := step{title: "No Bucket of v1alpha1 may have another policy than Retain, or whoever deletes it or its claim deletes the data."}
	for _, bucket := range now.old["Bucket"] {
		if bucket.Spec.Policy != string(cosiapi.DeletionPolicyRetain) {
			s.commands = append(s.commands, fmt.Sprintf(`kubectl patch %s %s --type=merge -p '{"spec":{"deletionPolicy":"Retain"}}'`, qualified("buckets"), bucket.GetName()))
		}
	}
	s.done = len(s.commands) == 0
	return s
}

func (now *cluster) stop() step {
	s := step{title: "Stop v1alpha1's controller and the sidecars of all its drivers, which take credentials back when accesses go."}
	for _, workload := range now.workloads {
		s.commands = append(s.commands, "kubectl "+workload)
	}
	if len(now.pods) > 0 {
		s.notes = append(s.notes, "Pods that run them: "+strings.Join(now.pods, ", "))
	}
	s.done = len(s.commands) == 0 && len(now.pods) == 0
	if s.done {
		s.notes = append(s.notes, "No Pod has an image called "+strings.Join(programs, " or ")+". If your vendor calls them otherwise, see to it that none runs.")
	}
	return s
}

// keepSecrets is the step that protects Secrets from garbage collection when the accesses that own them are
// deleted.
func (now *cluster) keepSecrets(backup olds) step {
	s := step{title: "The old Secrets must not go with their accesses: no access of v1alpha1 may own one."}
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
		title: "Delete v1alpha1's CRDs, and with them its objects, which the backup has.",
		notes: []string{
			"That is safe then: nobody is left who does anything in the store when an object goes, so no bucket and no account goes with it.",
			"Their finalizers are for the controller and the sidecars, which you have stopped; with them the objects would stay for ever.",
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
		title: fmt.Sprintf("Install COSI v1alpha2 and driver %s, and make the classes of the new accesses.", o.Driver),
		done:  len(now.newCRDs) == len(oldKinds),
	}
	for _, name := range slices.Compact(slices.Sorted(maps.Values(o.AccessClasses))) {
		if now.classes[name] == nil {
			s.done = false
			s.notes = append(s.notes, fmt.Sprintf("There is no BucketAccessClass %s of v1alpha2 yet.", name))
		}
	}
	if len(now.newCRDs) < len(oldKinds) {
		s.commands = []string{"kubectl apply --server-side -k deploy"}
	}
	return s
}

func (p plan) apply() step {
	s := step{title: "Apply this file, and wait until the claims and accesses are provisioned. Each access gets the mode that stands here, ReadWrite: write less where less is enough.", done: true}
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
	s := step{title: "Let applications read the new Secrets, which have a key for each value where the old ones have one, BucketInfo, with JSON in it."}
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
		title: "When nobody uses an old Secret any more, retire it: delete it, and its account with the store's own tools. Until then both credentials work.",
		done:  true,
	}
	for _, a := range p.moved() {
		secret := now.secrets[key(a.access.GetNamespace(), a.access.Spec.SecretName)]
		if secret == nil {
			continue
		}
		s.done = false
		s.notes = append(s.notes, fmt.Sprintf("Secret %s/%s is of account %q.", secret.Namespace, secret.Name, a.access.Status.AccountID))
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
