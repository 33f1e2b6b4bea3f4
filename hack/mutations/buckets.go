// SPDX-License-Identifier: Apache-2.0

package main

// ofBuckets are mutations of what concerns claims and Buckets, and of what all parts share.
func ofBuckets() []mutation { //nolint:funlen // a table
	return []mutation{
		{
			Name: "the bucket ID is not persisted before the creation", Cases: []int{2, 3, 7}, Crash: "a claim",
			Edits: []edit{
				{
					`sidecar/internal/bucket/identify.go`,
					`_, err := r.Store.PatchStatus(ctx, b, func() { b.Status.BucketID = id })`,
					"var err error\n" +
						"\tb.Status.BucketID = id",
				},
			},
		},
		{
			Name: "phase 1 gets another name than the Bucket's", Cases: []int{1},
			Edits: []edit{
				{
					`sidecar/internal/bucket/identify.go`,
					`Name: b.Name,`,
					`Name: b.Name + "x",`,
				},
			},
		},
		{
			Name: "phase 1 is repeated although there is an ID", Cases: []int{3},
			Edits: []edit{
				{
					`sidecar/internal/bucket/identify.go`,
					`if b.Status.BucketID != "" {`,
					`if b.Status.BucketID == "never" {`,
				},
			},
		},
		{
			Name: "phase 2 runs although the ID could not be stored", Cases: []int{4},
			Edits: []edit{
				{
					`sidecar/internal/bucket/identify.go`,
					`_, err := r.Store.PatchStatus(`,
					`_, _ = r.Store.PatchStatus(`,
				},
				{
					`sidecar/internal/bucket/identify.go`,
					`return step.Next(), err`,
					`return step.Next(), nil`,
				},
			},
		},
		{
			Name: "writes of the sidecar are not guarded by the resourceVersion", Cases: []int{6, 13},
			Edits: []edit{
				{
					`sidecar/internal/objects/objects.go`,
					`client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})`,
					`client.MergeFrom(before)`,
				},
			},
		},
		{
			Name: "phase 2 gets no parameters", Cases: []int{5},
			Edits: []edit{
				{
					`sidecar/internal/bucket/create.go`,
					`Parameters: b.Spec.Parameters`,
					`Parameters: nil`,
				},
			},
		},
		{
			Name: "only a provisioned bucket is deleted", Cases: []int{7, 11},
			Edits: []edit{
				{
					`sidecar/internal/bucket/rules.go`,
					`nothingMade := b.Status.BucketID == ""`,
					`nothingMade := !conditions.Is(b.Status.Conditions, cosiapi.ConditionProvisioned, metav1.ConditionTrue)`,
				},
			},
		},
		{
			Name: "a bucket ID counts as a bucket", Cases: []int{8},
			Edits: []edit{
				{
					`controller/internal/bucketclaim/rules.go`,
					"\tswitch of.Status {\n" +
						"\tcase metav1.ConditionTrue:\n" +
						"\t\tlacking",
					"\tif bucket.Status.BucketID != \"\" {\n" +
						"\t\tof.Status = metav1.ConditionTrue\n" +
						"\t}\n" +
						"\tswitch of.Status {\n" +
						"\tcase metav1.ConditionTrue:\n" +
						"\t\tlacking",
				},
			},
		},
		{
			Name: "an imported bucket is created", Cases: []int{9},
			Edits: []edit{
				{
					`sidecar/internal/bucket/bucket.go`,
					"if b.Spec.ExistingBucketID != \"\" {\n" +
						"\t\tobtain",
					"if b.Spec.ExistingBucketID == \"never\" {\n" +
						"\t\tobtain",
				},
			},
		},
		{
			Name: "answers of the driver are not checked", Cases: []int{10, 11, 50},
			Edits: []edit{
				{
					`sidecar/internal/driver/calls.go`,
					`if err := cosi.ValidateResponse(request, answer); err != nil {`,
					`if err := cosi.ValidateResponse(request, answer); err != nil && method == "" {`,
				},
			},
		},
		{
			Name: "the controller puts the sidecar's finalizer on", Cases: []int{17},
			Edits: []edit{
				{
					`controller/internal/bucketclaim/rules.go`,
					`ObjectMeta: metav1.ObjectMeta{Name: cosiapi.BucketNameFor(claim.UID)},`,
					`ObjectMeta: metav1.ObjectMeta{Name: cosiapi.BucketNameFor(claim.UID), Finalizers: []string{cosiapi.ProtectionFinalizer}},`,
				},
			},
		},
		{
			Name: "the Bucket has no finalizer at the first call", Cases: []int{1, 17},
			Edits: []edit{
				{
					`sidecar/internal/bucket/bucket.go`,
					"named(\"protect\", r.protect),\n" +
						"",
					``,
				},
			},
		},
		{
			Name: "a lost Bucket is created again", Cases: []int{18},
			Edits: []edit{
				{
					`controller/internal/bucketclaim/find.go`,
					`case w.claim.Status.BoundBucketName != "":`,
					`case w.claim.Status.BoundBucketName == "never":`,
				},
			},
		},
		{
			Name: "a lost Bucket is judged by the cache", Cases: []int{19},
			Edits: []edit{
				{
					`controller/internal/bucketclaim/find.go`,
					`	bucket, err := r.liveBucket(ctx, name)`,
					"\tvar bucket *cosiapi.Bucket\n" +
						"\tvar err error",
				},
			},
		},
		{
			Name: "a Bucket of that name is adopted whosever it is", Cases: []int{20, 31},
			Edits: []edit{
				{
					`controller/internal/bucketclaim/match.go`,
					"\tif p == nil {\n" +
						"\t\treturn step.Next(), nil\n" +
						"\t}\n" +
						"\tlive",
					"\tif p == nil || w.claim.Spec.ExistingBucketName == \"\" {\n" +
						"\t\treturn step.Next(), nil\n" +
						"\t}\n" +
						"\tlive",
				},
			},
		},
		{
			Name: "a deletion gets no parameters", Cases: []int{21},
			Edits: []edit{
				{
					`sidecar/internal/bucket/delete.go`,
					`Parameters: b.Spec.Parameters}`,
					`Parameters: nil}`,
				},
			},
		},
		{
			Name: "an import is not compared with its claim", Cases: []int{22, 23},
			Edits: []edit{
				{
					`controller/internal/bucketclaim/reconciler.go`,
					"\t\tstep.Func[*work]{StepName: \"match\", Do: r.match},           // is it this claim's Bucket?\n" +
						"",
					``,
				},
			},
		},
		{
			Name: "the controller does not watch Buckets", Cases: []int{24},
			Edits: []edit{
				{
					`controller/internal/bucketclaim/watches.go`,
					"\t\tWatches(&cosiapi.Bucket{}, handler.EnqueueRequestsFromMapFunc(r.ofBucket)).\n" +
						"",
					``,
				},
			},
		},
		{
			Name: "protocols of an import are not compared", Cases: []int{25},
			Edits: []edit{
				{
					`controller/internal/bucketclaim/rules.go`,
					`return slices.Contains(bucket.Status.Protocols, p)`,
					`return p != ""`,
				},
			},
		},
		{
			Name: "protocols of the driver are not compared", Cases: []int{26},
			Edits: []edit{
				{
					`sidecar/internal/bucket/rules.go`,
					`if !info.Supports(terms.ProtocolType(protocol)) {`,
					`if info.Name == "" && !info.Supports(terms.ProtocolType(protocol)) {`,
				},
			},
		},
		{
			Name: "the sidecar serves Buckets of other drivers", Cases: []int{27},
			Edits: []edit{
				{
					`sidecar/internal/bucket/bucket.go`,
					`b.Spec.DriverName != w.Info.Name || `,
					``,
				},
				{
					`sidecar/cache.go`,
					"\t\t\t&cosiapi.Bucket{}:       {Field: fields.OneTermEqualSelector(\"spec.driverName\", driverName)},\n" +
						"",
					``,
				},
			},
		},
		{
			Name: "a claim goes although accesses use it", Cases: []int{28, 29},
			Edits: []edit{
				{
					`controller/internal/bucketclaim/unused.go`,
					`len(blockers) > 0 {`,
					`len(blockers) > 0 && w.key.Name == "" {`,
				},
			},
		},
		{
			Name: "accesses of a claim are looked up in the cache alone", Cases: []int{29},
			Edits: []edit{
				{
					`controller/internal/bucketclaim/unused.go`,
					`{r.cachedAccesses, r.liveAccesses}`,
					`{r.cachedAccesses, r.cachedAccesses}`,
				},
			},
		},
		{
			Name: "a Bucket is deleted before it is marked", Cases: []int{30},
			Edits: []edit{
				{
					`controller/internal/bucketclaim/release.go`,
					`if cosiapi.SetAnnotation(bucket,`,
					`if bucket.Spec.DeletionPolicy != cosiapi.DeletionPolicyDelete && cosiapi.SetAnnotation(bucket,`,
				},
			},
		},
		{
			Name: "a claim with an invalid binding goes", Cases: []int{31},
			Edits: []edit{
				{
					`controller/internal/bucketclaim/release.go`,
					`if w.claim.Status.BoundBucketName == "" {`,
					`if w.claim.Status.BoundBucketName != "never" {`,
				},
			},
		},
		{
			Name: "the mark of the claim is not needed to delete", Cases: []int{32},
			Edits: []edit{
				{
					`sidecar/internal/bucket/rules.go`,
					`case annotated && deletes && !nothingMade:`,
					`case deletes && !nothingMade:`,
				},
			},
		},
		{
			Name: "the mark of the claim alone deletes", Cases: []int{32},
			Edits: []edit{
				{
					`sidecar/internal/bucket/rules.go`,
					"case !deleting:\n" +
						"\t\treturn retain",
					"case !deleting && !deletes:\n" +
						"\t\treturn retain",
				},
			},
		},
		{
			Name: "a Bucket that is being deleted is not marked", Cases: []int{33},
			Edits: []edit{
				{
					`controller/internal/bucketclaim/release.go`,
					`if cosiapi.SetAnnotation(bucket,`,
					`if bucket.DeletionTimestamp.IsZero() && cosiapi.SetAnnotation(bucket,`,
				},
			},
		},
		{
			Name: "Retain deletes", Cases: []int{34, 35},
			Edits: []edit{
				{
					`sidecar/internal/bucket/rules.go`,
					`deletes := b.Spec.DeletionPolicy == cosiapi.DeletionPolicyDelete && b.Spec.ExistingBucketID == ""`,
					`deletes := b.Spec.ExistingBucketID == ""`,
				},
			},
		},
		{
			Name: "a policy that changed is not seen before the deletion", Cases: []int{35},
			Edits: []edit{
				{
					`sidecar/internal/turn/turn.go`,
					`current, err := c.Store.Current(ctx, t.Object)`,
					`current, err := ctx != nil, error(nil)`,
				},
			},
		},
		{
			Name: "a Bucket is deleted whatever became of it since it was read", Cases: []int{35},
			Edits: []edit{
				{
					`controller/internal/bucketclaim/release.go`,
					`client.Preconditions{UID: &uid, ResourceVersion: &version}`,
					`client.Preconditions{UID: &uid}`,
				},
				{
					`controller/internal/bucketclaim/release.go`,
					`uid, version := bucket.UID, bucket.ResourceVersion`,
					`uid := bucket.UID`,
				},
			},
		},
		{
			Name: "the finalizer of a Bucket is off before its bucket is deleted", Cases: []int{7, 36},
			Edits: []edit{
				{
					`sidecar/internal/bucket/bucket.go`,
					"\t\tstep.BeforeStop(named(\"delete\", r.delete)),\n" +
						"\t\tnamed(\"unprotect\", r.unprotect),\n" +
						"",
					"\t\tnamed(\"unprotect\", r.unprotect),\n" +
						"\t\tstep.BeforeStop(named(\"delete\", r.delete)),\n" +
						"",
				},
			},
		},
		{
			Name: "the finalizer of a claim is off before its Bucket is released", Cases: []int{31},
			Edits: []edit{
				{
					`controller/internal/bucketclaim/reconciler.go`,
					`step.Func[*work]{StepName: "release", Do: r.release},     // mark`,
					`step.Func[*work]{StepName: "unprotect", Do: r.unprotect}, // mark`,
				},
				{
					`controller/internal/bucketclaim/reconciler.go`,
					`step.Func[*work]{StepName: "unprotect", Do: r.unprotect}, // finalizer off`,
					`step.Func[*work]{StepName: "release", Do: r.release}, // finalizer off`,
				},
			},
		},
		{
			Name: "what did not change is written again", Cases: []int{56},
			Edits: []edit{
				{
					`controller/internal/bucketaccess/work.go`,
					`if equality.Semantic.DeepEqual(w.stored, w.access.Status) {`,
					`if equality.Semantic.DeepEqual(w.stored, nil) {`,
				},
			},
		},
		{
			Name: "a claim copies that its Bucket is being tried again", Cases: []int{56},
			Edits: []edit{
				{
					`controller/internal/bucketclaim/rules.go`,
					`if now.Status == metav1.ConditionTrue || copied {`,
					`if now.Status == metav1.ConditionTrue || copied && claim == nil {`,
				},
			},
		},
		{
			Name: "the outcome of a call is lost to a conflict", Cases: []int{57},
			Edits: []edit{
				{
					`sidecar/internal/objects/objects.go`,
					`if !apierrors.IsConflict(err) || tries == recordTries {`,
					`if !apierrors.IsConflict(err) || tries > 0 {`,
				},
			},
		},
		{
			Name: "a refusal stands though the driver changed", Cases: []int{57},
			Edits: []edit{
				{
					`sidecar/internal/attempts/attempts.go`,
					`if last.state != now {`,
					`if last.state.Object != now.Object {`,
				},
			},
		},
		{
			Name: "two calls for one ID run at once", Cases: []int{60},
			Edits: []edit{
				{
					`sidecar/internal/turn/turn.go`,
					"\tif release == nil {\n" +
						"",
					"\tif release == nil && t == nil {\n" +
						"",
				},
				{
					`sidecar/internal/turn/turn.go`,
					`	defer release()`,
					"\tif release != nil {\n" +
						"\t\tdefer release()\n" +
						"\t}",
				},
			},
		},
		{
			Name: "nobody is told that an ID is free again", Cases: []int{60},
			Edits: []edit{
				{
					`sidecar/internal/turn/turn.go`,
					`func() { c.Bell.Ring(t.Req) }`,
					`func() {}`,
				},
			},
		},
		{
			Name: "a deletion that failed is taken for done", Cases: []int{36},
			Edits: []edit{
				{
					`sidecar/internal/bucket/delete.go`,
					"\tif err != nil {\n" +
						"",
					"\tif err != nil && b.Name == \"\" {\n" +
						"",
				},
			},
		},
		{
			Name: "the sidecar deletes Buckets", Cases: []int{37},
			Edits: []edit{
				{
					`sidecar/internal/bucket/unprotect.go`,
					`		return r.Store.Patch(`,
					"\t\t_ = r.Store.Writer.Delete(ctx, b)\n" +
						"\t\treturn r.Store.Patch(",
				},
			},
		},
		{
			Name: "a refusal is Unknown and a failure False", Cases: []int{57},
			Edits: []edit{
				{
					`sidecar/internal/turn/failure.go`,
					`if f.Terminal() {`,
					`if !f.Terminal() {`,
				},
			},
		},
		{
			Name: "deletions of Buckets are not measured", Cases: []int{59, 66},
			Edits: []edit{
				{
					`sidecar/internal/bucket/unprotect.go`,
					"\tr.finished(b, metrics.OperationDelete, deleted)\n" +
						"",
					"\t_ = deleted\n" +
						"",
				},
			},
		},
		{
			Name: "a call is cut off when the sidecar stops", Cases: []int{60},
			Edits: []edit{
				{
					`internal/step/uninterrupted.go`,
					`context.WithTimeout(context.WithoutCancel(ctx), u.limit)`,
					`context.WithTimeout(ctx, u.limit)`,
				},
			},
		},
		{
			Name: "bucketInfo is not written", Cases: []int{61},
			Edits: []edit{
				{
					`sidecar/internal/bucket/report.go`,
					`b.Status.BucketInfo = secretkeys.BucketInfo(w.answer)`,
					`_ = secretkeys.BucketInfo(w.answer)`,
				},
			},
		},
		{
			Name: "conditions of a claim tell no generation", Cases: []int{62},
			Edits: []edit{
				{
					`controller/internal/bucketclaim/work.go`,
					`Message: message, Generation: w.claim.Generation,`,
					`Message: message,`,
				},
			},
		},
		{
			Name: "Events of a Bucket are not repeated on its claim", Cases: []int{64},
			Edits: []edit{
				{
					`sidecar/internal/bucket/attempt.go`,
					`r.Events.Warn(claim, reason, action, fmt.Sprintf("Bucket %s: %s", b.Name, note))`,
					`_ = fmt.Sprint(claim.Name)`,
				},
			},
		},
		{
			Name: "persistent API problems are not told", Cases: []int{65},
			Edits: []edit{
				{
					`internal/runner/runner.go`,
					`if failures != persistent ||`,
					`if failures > 0 ||`,
				},
			},
		},
		{
			Name: "a boundary of the histograms is another", Cases: []int{66},
			Edits: []edit{
				{
					`internal/metrics/metrics.go`,
					`0.1, 0.25,`,
					`0.2, 0.25,`,
				},
			},
		},
		{
			Name: "empty values are in Secrets", Cases: []int{67},
			Edits: []edit{
				{
					`internal/secretkeys/secretkeys.go`,
					`func(_, value string) bool { return value == "" }`,
					`func(string, string) bool { return false }`,
				},
			},
		},
		{
			Name: "a conflict is forgotten when the claim is gone", Cases: []int{68},
			Edits: []edit{
				{
					`controller/internal/bucketclaim/reconciler.go`,
					`return runner.Run(ctx, r.Runner.Once(), req, w.claim, r.absent(), w)`,
					"_, err = runner.Run(ctx, r.Runner.Once(), req, w.claim, r.absent(), w)\n" +
						"\t\treturn reconcile.Result{}, err",
				},
			},
		},
		{
			Name: "a Bucket whose claim is gone is not found", Cases: []int{68},
			Edits: []edit{
				{
					`controller/internal/bucketclaim/orphans.go`,
					`if uid == "" || uid == w.claim.UID || released(&buckets.Items[i]) {`,
					`if uid != "never" || released(&buckets.Items[i]) {`,
				},
			},
		},
	}
}
