// SPDX-License-Identifier: Apache-2.0

package main

// ofAccesses are mutations of what concerns accesses and Secrets.
func ofAccesses() []mutation { //nolint:funlen // a table
	return []mutation{
		{
			Name: "an access does not wait for its claim", Cases: []int{41},
			Edits: []edit{
				{
					`controller/internal/bucketaccess/rules.go`,
					"return claim != nil && claim.Status.BoundBucketName != \"\" &&\n" +
						"\t\tconditions.Is(claim.Status.Conditions, cosiapi.ConditionProvisioned, metav1.ConditionTrue)",
					"_ = metav1.ConditionTrue\n" +
						"\treturn claim != nil && claim.Status.BoundBucketName != \"\"",
				},
			},
		},
		{
			Name: "the account is named after the access's name", Cases: []int{12},
			Edits: []edit{
				{
					`sidecar/internal/bucketaccess/rules.go`,
					`cosiapi.AccountNameFor(a.UID),`,
					`"ba-" + a.Namespace + "." + a.Name,`,
				},
			},
		},
		{
			Name: "the account ID is not persisted before the grant", Cases: []int{13}, Crash: "an access",
			Edits: []edit{
				{
					`sidecar/internal/bucketaccess/identify.go`,
					`_, err = r.Store.PatchStatus(ctx, a, func() { a.Status.AccountID = id })`,
					`a.Status.AccountID = id`,
				},
			},
		},
		{
			Name: "only a provisioned access is revoked", Cases: []int{13},
			Edits: []edit{
				{
					`sidecar/internal/bucketaccess/revoke.go`,
					`if a.Status.AccountID == "" {`,
					`if !provisioned(a) {`,
				},
			},
		},
		{
			Name: "the grant asks for the first bucket alone", Cases: []int{14},
			Edits: []edit{
				{
					`sidecar/internal/bucketaccess/rules.go`,
					`asked.GetBuckets(),`,
					`asked.GetBuckets()[:1],`,
				},
			},
		},
		{
			Name: "a refused access is tried again and again", Cases: []int{15},
			Edits: []edit{
				{
					`sidecar/internal/turn/turn.go`,
					`attempts.Failure{Terminal: failure.Terminal(),`,
					`attempts.Failure{Terminal: false,`,
				},
			},
		},
		{
			Name: "a rotation is not passed on", Cases: []int{16},
			Edits: []edit{
				{
					`sidecar/internal/bucketaccess/rules.go`,
					`a.Annotations[cosiapi.RotateAnnotation],`,
					`"",`,
				},
			},
		},
		{
			Name: "another revision of the driver is not noticed", Cases: []int{16},
			Edits: []edit{
				{
					`sidecar/internal/bucketaccess/regrant.go`,
					`Revision: revision,`,
					`Revision: "",`,
				},
				{
					`sidecar/internal/bucketaccess/regrant.go`,
					`func grantDigest(request *cosi.DriverGrantBucketAccessRequest, revision string)`,
					`func grantDigest(request *cosi.DriverGrantBucketAccessRequest, _ string)`,
				},
			},
		},
		{
			Name: "stale keys stay in a Secret", Cases: []int{51},
			Edits: []edit{
				{
					`sidecar/internal/bucketaccess/secrets.go`,
					`secret.Data = content.Data`,
					"for key, value := range content.Data {\n" +
						"\t\t\tif secret.Data == nil {\n" +
						"\t\t\t\tsecret.Data = map[string][]byte{}\n" +
						"\t\t\t}\n" +
						"\t\t\tsecret.Data[key] = value\n" +
						"\t\t}",
				},
			},
		},
		{
			Name: "the class is looked at after the finalizer", Cases: []int{38},
			Edits: []edit{
				{
					`controller/internal/bucketaccess/reconciler.go`,
					`step.Func[*work]{StepName: "class", Do: r.class},     // does`,
					`step.Func[*work]{StepName: "protect", Do: r.protect}, // does`,
				},
				{
					`controller/internal/bucketaccess/reconciler.go`,
					`step.Func[*work]{StepName: "protect", Do: r.protect}, // finalizer on the access`,
					`step.Func[*work]{StepName: "class", Do: r.class}, // finalizer on the access`,
				},
			},
		},
		{
			Name: "an access is handed over again and again", Cases: []int{39},
			Edits: []edit{
				{
					`controller/internal/bucketaccess/reconciler.go`,
					`case w.access.Status.DriverName != "":`,
					`case w.access.Status.DriverName == "never":`,
				},
			},
		},
		{
			Name: "an access to a claim that goes is granted", Cases: []int{40},
			Edits: []edit{
				{
					`controller/internal/bucketaccess/rules.go`,
					"\t\tif !claim.DeletionTimestamp.IsZero() {\n" +
						"\t\t\treturn refusal",
					"\t\tif !claim.DeletionTimestamp.IsZero() && claim.Name == \"\" {\n" +
						"\t\t\treturn refusal",
				},
			},
		},
		{
			Name: "the hand-off trusts the cache", Cases: []int{40},
			Edits: []edit{
				{
					`controller/internal/bucketaccess/handoff.go`,
					`if err := r.gatherLive(ctx, w); err != nil {`,
					`if err := ctx.Err(); err != nil {`,
				},
			},
		},
		{
			Name: "Secrets are reserved after the first call", Cases: []int{46},
			Edits: []edit{
				{
					`sidecar/internal/bucketaccess/bucketaccess.go`,
					"\t\tnamed(\"reserve\", r.reserve),\n" +
						"\t\tnamed(\"settle\", r.settle),\n" +
						"\t\tshared(\"attempt\", r.Attempt),\n" +
						"\t\tstep.BeforeStop(named(\"identify\", r.identify)),\n" +
						"",
					"\t\tnamed(\"settle\", r.settle),\n" +
						"\t\tshared(\"attempt\", r.Attempt),\n" +
						"\t\tstep.BeforeStop(named(\"identify\", r.identify)),\n" +
						"\t\tnamed(\"reserve\", r.reserve),\n" +
						"",
				},
			},
		},
		{
			Name: "the driver of the class is not compared", Cases: []int{42},
			Edits: []edit{
				{
					`controller/internal/bucketaccess/rules.go`,
					`case bucket.Spec.DriverName != class.Spec.DriverName:`,
					`case bucket.Spec.DriverName == "" && class != nil:`,
				},
			},
		},
		{
			Name: "a mode that is left open is read-write", Cases: []int{43},
			Edits: []edit{
				{
					`sidecar/internal/terms/terms.go`,
					`term := cosi.AccessMode_ANY`,
					`term := cosi.AccessMode_READ_WRITE`,
				},
			},
		},
		{
			Name: "several buckets are allowed by default", Cases: []int{44},
			Edits: []edit{
				{
					`controller/internal/bucketaccess/rules.go`,
					`class.Spec.MultiBucketAccess != cosiapi.MultiBucketAccessMultipleBuckets`,
					`class.Spec.MultiBucketAccess == cosiapi.MultiBucketAccessSingleBucket`,
				},
			},
		},
		{
			Name: "a ServiceAccount is passed on with Key", Cases: []int{45},
			Edits: []edit{
				{
					`sidecar/internal/bucketaccess/rules.go`,
					`if a.Status.AuthenticationType != cosiapi.AuthenticationTypeServiceAccount {`,
					`if a.Status.AuthenticationType == "never" {`,
				},
			},
		},
		{
			Name: "a Secret of somebody else is taken over", Cases: []int{46, 47, 48},
			Edits: []edit{
				{
					`sidecar/internal/bucketaccess/secrets.go`,
					"case !owns(a, secret):\n" +
						"\t\t\terr = s.bury",
					"case !owns(a, secret) && a.Name == \"\":\n" +
						"\t\t\terr = s.bury",
				},
			},
		},
		{
			Name: "the sum of modes on one bucket is not looked at", Cases: []int{49},
			Edits: []edit{
				{
					`controller/internal/bucketaccess/rules.go`,
					`return checkMerged(access, f)`,
					`return nil`,
				},
			},
		},
		{
			Name: "Secrets are not watched", Cases: []int{46, 47, 51},
			Edits: []edit{
				{
					`sidecar/watches.go`,
					`if p.options.WatchSecrets {`,
					`if p.options.WatchSecrets && p.options.Driver == nil {`,
				},
			},
		},
		{
			Name: "a Secret has no finalizer", Cases: []int{51},
			Edits: []edit{
				{
					`sidecar/internal/bucketaccess/secrets.go`,
					"\tcosiapi.AddProtection(secret)\n" +
						"",
					``,
				},
			},
		},
		{
			Name: "access is revoked before its Secrets are deleted", Cases: []int{52}, Crash: "an access that leaves",
			Edits: []edit{
				{
					`sidecar/internal/bucketaccess/bucketaccess.go`,
					"\t\tnamed(\"release\", r.release),\n" +
						"\t\tshared(\"attempt\", r.Attempt),\n" +
						"\t\tstep.BeforeStop(named(\"revoke\", r.revoke)),\n" +
						"",
					"\t\tshared(\"attempt\", r.Attempt),\n" +
						"\t\tstep.BeforeStop(named(\"revoke\", r.revoke)),\n" +
						"\t\tnamed(\"release\", r.release),\n" +
						"",
				},
			},
		},
		{
			Name: "a revocation that failed is taken for done", Cases: []int{53, 54},
			Edits: []edit{
				{
					`sidecar/internal/bucketaccess/revoke.go`,
					"\tif err != nil {\n" +
						"",
					"\tif err != nil && a.Name == \"\" {\n" +
						"",
				},
			},
		},
		{
			Name: "the finalizer is off before the access is revoked", Cases: []int{52, 53}, Crash: "an access that leaves",
			Edits: []edit{
				{
					`controller/internal/bucketaccess/cleaned.go`,
					`case w.access.Status.DriverName == "", cosiapi`,
					`case w.access.Status.DriverName != "never", cosiapi`,
				},
			},
		},
		{
			Name: "an access that goes does not count as a reference", Cases: []int{54, 69},
			Edits: []edit{
				{
					`controller/internal/inuse/inuse.go`,
					`finished := deleting && (access`,
					`finished := deleting || (access`,
				},
			},
		},
		{
			Name: "an access that goes is not told of its heir", Cases: []int{54},
			Edits: []edit{
				{
					`controller/internal/bucketaccess/watches.go`,
					`if !ok || !inuse.StateOf(access).Holds {`,
					`if ok || !inuse.StateOf(access).Holds {`,
				},
			},
		},
		{
			Name: "an access without a sidecar waits for one", Cases: []int{55},
			Edits: []edit{
				{
					`controller/internal/bucketaccess/cleaned.go`,
					`case w.access.Status.DriverName == "", cosiapi`,
					`case cosiapi`,
				},
			},
		},
		{
			Name: "a failure takes Provisioned back", Cases: []int{56},
			Edits: []edit{
				{
					`sidecar/internal/turn/failure.go`,
					`if conditions.Is(*list, cosiapi.ConditionProvisioned, metav1.ConditionTrue) {`,
					`if f == nil {`,
				},
			},
		},
		{
			Name: "a credential is in a condition", Cases: []int{58},
			Edits: []edit{
				{
					`sidecar/internal/bucketaccess/report.go`,
					`Message: "The access is granted and its Secrets are written",`,
					`Message: "The access is granted" + w.answer.GetCredentials().GetS3().GetAccessSecretKey(),`,
				},
			},
		},
		{
			Name: "a credential that the driver says is repeated", Cases: []int{58},
			Edits: []edit{
				{
					`sidecar/internal/driver/conceal.go`,
					`text = strings.ReplaceAll(text, form, concealed)`,
					`text = strings.ReplaceAll(text, form, form)`,
				},
			},
		},
		{
			Name: "the controller takes the sidecar's condition back", Cases: []int{63},
			Edits: []edit{
				{
					`controller/internal/bucketaccess/work.go`,
					`conditions.Merge(`,
					`conditions.Set(`,
				},
			},
		},
	}
}
