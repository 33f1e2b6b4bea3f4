// SPDX-License-Identifier: Apache-2.0

package reasons

import (
	"slices"
	"strings"
)

// Elided replaces a name, a number or another error in an error message.
const Elided = "…"

// Errors returns, by message, the explanations of the errors with which kubectl cosi and cooper exit. Messages that
// only add context to another error have no explanation.
func Errors() []Text {
	var all []Text
	for _, texts := range [][]alike{ofCluster(), ofSecrets(), ofFlags(), ofCooper(), ofMigration(), ofPeers()} {
		for _, text := range texts {
			for _, message := range text.messages {
				all = append(all, Text{Kind: Failure, Reason: message, Why: text.why, Do: text.do})
			}
		}
	}
	slices.SortFunc(all, func(a, b Text) int { return strings.Compare(a.Reason, b.Reason) })
	return all
}

// alike are messages with the same cause and the same remedy.
type alike struct {
	why, do  string
	messages []string
}

// is reports whether the printed text contains all parts of a message in order. The parts must be specific enough to
// identify the message.
func is(printed, message string) bool {
	words := 0
	for part := range strings.SplitSeq(message, Elided) {
		_, rest, found := strings.Cut(printed, part)
		if !found {
			return false
		}
		printed, words = rest, max(words, len(strings.Fields(part)))
	}
	return words > 2
}

// ofCluster returns the texts of errors about objects that a cluster does not have, or not yet.
func ofCluster() []alike {
	return []alike{
		{"kubectl cosi doctor found problems that prevent COSI from working.", "Follow the lines that begin with FAIL.", []string{"findings that require action: …"}},
		{"You do not have permission to read the Secret, which env, test and rotate need.", "Ask an administrator of the namespace for a Role with the verb get on Secrets.", []string{
			"cannot read Secret …: you need permission to get Secrets in namespace …: …",
		}},
		{"Its bucket or account has not been created yet, its creation failed, or a requested rotation is waiting.", "Run kubectl cosi status for the access, and follow its instructions.", []string{
			"BucketAccess … is not provisioned: …", "BucketAccess … has no new credential yet (…): … After ten rotations in a row, COSI performs only one per minute",
		}},
		{"The access names other claims.", "Set --claim to one of the listed claims.", []string{"BucketAccess … does not use claim …: set --claim to one of …"}},
		{"The Secret was deleted or emptied manually.", "Wait a few minutes. If the error persists, run kubectl cosi doctor.", []string{
			"Secret … of BucketAccess … does not exist: COSI writes it again within minutes", "Secret … of BucketAccess … is empty: COSI fills it again within minutes",
		}},
		{"The store identifies Pods by their service account, so there is no key.", "Use the bucket in a Pod with the service account that the access names.", []string{
			"BucketAccess … authenticates by ServiceAccount …: it can only be tested in a Pod of that service account",
			"BucketAccess … authenticates by ServiceAccount: it has no credential to rotate",
			"Secret … contains no credential: if its access authenticates by ServiceAccount, use it in a Pod of that service account",
		}},
		{"A BucketAccess that is being deleted gets no new credential.", "Create another BucketAccess.", []string{"BucketAccess … is being deleted, so it gets no new credential"}},
		{"Two users or programs rotate the same access.", "Run kubectl cosi status, and rotate again if the credential is too old.", []string{
			"another rotation was requested in the meantime; see kubectl cosi status",
		}},
		{"COSI is not installed, or only in an older version.", "An administrator must install the CustomResourceDefinitions as described in docs/howto/deploy.md.", []string{
			"this cluster has no COSI …: an administrator must install its CustomResourceDefinitions: …",
		}},
		{"The installation would change the meaning of existing objects.", "Follow the message before you install anything.", []string{
			"cannot install Cooper's CRDs, because there are objects of …: …. First migrate objects of v1alpha1 (docs/howto/migrate-from-v1alpha1.md), and rewrite objects of other versions with cooper migrate-storage (docs/howto/upgrade.md)",
			"cannot install Cooper's CRDs, because these CustomResourceDefinitions are not Cooper's: …. To replace them, read about the effect on their objects in docs/reference/upstream.md, stop the controller and the sidecars that serve them, and set --replace-crds",
			"cannot install Cooper's CRDs, because these BucketAccessClasses would allow access modes that they now disallow: …. Delete them, and after the installation create them again with Cooper's field disallowedBucketAccessModes",
		}},
		{"The CustomResourceDefinition has a different storage version than the requested one.", "Install the release with that storage version, or request the current one.", []string{
			"the storage version of … is …, not …: install the CRDs of a release that stores … first, or set --storage-version",
		}},
		{"The page lists objects with the granted credential. It supports only some protocols, and a write-only credential cannot list objects.", "Use a client of the store.", []string{
			"cannot list the objects of buckets with protocol …", "the credential is not allowed to list the objects of bucket …: …",
		}},
	}
}

// ofSecrets returns the texts of errors about credentials that an output format of kubectl cosi env cannot represent.
func ofSecrets() []alike {
	return []alike{
		{"Each format supports only some protocols, and some support only one bucket.", "Choose another format or one bucket, as the message describes.", []string{
			"unknown format …: use one of …", "the format … supports one bucket, but the access has …: select one with --claim",
			"…, but the protocol of claim … is …: use one of …",
			"Secret … contains a service account key, but an S3 client requires an HMAC key: use the format gcloud or rclone",
			"Secret … contains an HMAC key, which Google's own clients do not support: use the format aws, rclone, s3cmd or mc",
			"… does not support endpoints with a path, such as that of …",
		}},
		{"The Secret contains a value that the format cannot represent safely.", "Choose the format that the message names, or json. If the value does not come from a driver, find out which user or program wrote it.", []string{
			"Secret …: the value of … is not one of S3, Azure, GCS", "Secret …: the value of … is not a URL", "Secret …: the value of … is not a URL with a signature", "Secret …: the value of … does not contain the name of a container",
			"Secret …: the value of … contains characters that no driver delivers, so it is not printed: check which client writes that Secret, or use the format json",
			"Secret …: the value of … contains a character that other programs may misinterpret: use the format shell or json",
			"the value of … contains a character that programs may misinterpret in a file of this format: use the format shell or json",
			"Secret …: the value of … does not name the container: use the format shell or json",
			"the key of the service account cannot be written on one line, as rclone requires: use the format gcloud", "the Secret cannot be written as JSON", "the Secret cannot be written as YAML",
			"… cannot be the name of an environment variable",
		}},
	}
}

// ofFlags returns the texts of errors in the command line.
func ofFlags() []alike {
	return []alike{{"A flag or an argument is missing or misspelt, or contradicts another one.", "Correct it as the message describes. --help lists all flags and arguments.", []string{
		"…: … is not …", "… is not a reason of COSI; see docs/reference/reasons.md", "… is not an access: use access/NAME",
		"names and --all-namespaces are mutually exclusive", "… is not one of claim/NAME, access/NAME, bucket/NAME",
		"--output … is not one of wide, json, yaml, dot", "--store-administrator and --secret are mutually exclusive",
		"--manifests and --no-sample are mutually exclusive", "--suffix must not be empty: the old and the new Secret exist at the same time",
		"--suffix … is not a valid end of a Secret name: …", "--from is not set: pass the name of the driver to migrate buckets from",
		"--backup is not set: pass the file with the v1alpha1 objects; see docs/howto/migrate-from-v1alpha1.md",
		"--kubeconfig is not set: pass the kubeconfig file of the cluster", "--cloud … is not one of s3, azure, gcs",
		"--kubeconfigs is not set: pass an output directory for the kubeconfig files of the components",
		"--port … is not a port: use a number from 1 to …, or 0 for a free port", "… … is not a port: use a number from 1 to …, or 0 for a free port",
		"--namespace … is not a valid namespace name: …", "--health-address: …; use an address such as 127.0.0.1:8081",
		"… is not a valid driver name: use a DNS name of at most … bytes, such as acme.example.com",
		"--module … is not a valid Go module path: use one such as example.com/…",
		"address … of the page: …: use one such as 127.0.0.1:8080",
		"address … of the page is not a loopback address: the page shows everything that you have permission to read, so use an address such as 127.0.0.1:8080",
		"manifests: no .yaml files found: pass a .yaml file, or a directory with .yaml files",
		"find the cache directory: …; pass a directory with --data",
		"… is not a Kubernetes object: apiVersion, kind and metadata.name are required",
	}}}
}

// ofCooper returns the texts of errors of cooper up and cooper new.
func ofCooper() []alike {
	return []alike{
		{"A program is starting or stopping, or cooper up is not running with this directory.", "Start cooper up, or wait a few seconds. Its log shows the progress.", []string{
			"no system is running in …: start one with cooper up…", "the process that uses … is starting or stopping; try again", "the API server has not started yet",
			"process … does not stop: …; run kill -9 …; the next cooper up removes its leftovers",
		}},
		{"A part of cooper up failed, or the machine is slow.", "Read the log that the message names. If the machine is slow, increase the timeout with the flag.", []string{
			"timed out after … (--timeout)", "timed out after … (--sample-timeout); see …", "… stopped unexpectedly: …; see …",
			"Secret … still contains the endpoint … of an earlier run: …; see …",
		}},
		{"The sample or the objects of --manifests were rejected, or their driver has not finished.", "Run kubectl cosi status for the namespace, and follow its instructions.", []string{
			"… cannot be provisioned: …", "… is still not provisioned: … (…)",
			"Secret … does not exist; to check whether its access is provisioned, run kubectl get bucketaccess -n …: …",
		}},
		{"The command cooper new driver creates a new directory, whose Go module requires a release or the source code of Cooper.", "Set --dir or --checkout, as the message describes.", []string{
			"… already exists and is not overwritten: pass another directory with --dir", "--checkout … does not contain Cooper's source code",
			"the version of cooper, …, is not a release, so go mod tidy cannot find it: set --checkout to a directory with Cooper's source code",
		}},
	}
}

// ofMigration returns the texts of errors of cooper migrate.
func ofMigration() []alike {
	return []alike{
		{"The backup is from another cluster, was taken at the wrong time, or is not a list of objects.", "Take the backup again as described in docs/howto/migrate-from-v1alpha1.md, or name the correct file.", []string{
			"--backup … contains no v1alpha1 Bucket: it is from another cluster, or from after the CRDs were deleted", "a list item is a …, not an object",
			"the backup contains v1alpha2 objects: use a backup from before the deletion of the v1alpha1 CRDs",
			"--backup … does not match this cluster: …; make a new backup, or select the other cluster with --kubeconfig",
		}},
		{"Old and new objects cannot be distinguished, because one CustomResourceDefinition contains the versions of both.", "Stop all controllers and sidecars, and fix the CustomResourceDefinitions first.", []string{
			"CustomResourceDefinition … has … and …: each object can be read in both versions, so COSI also processes the old objects, and a deletion in either version deletes the object in both; first stop all controllers and sidecars, and then remove … from the CustomResourceDefinition",
			"CustomResourceDefinition … is …: run cooper check for the next steps",
		}},
		{"An access of v1alpha2 needs one protocol, and the old object names none that v1alpha2 supports.", "Create the object manually, with the protocol that its workloads use.", []string{
			"it does not name a protocol, and its claim has … protocols. Create the access manually", "v1alpha2 does not support protocol …",
		}},
	}
}
