// SPDX-License-Identifier: Apache-2.0

package reasons

import (
	"slices"
	"strings"
)

// Elided replaces a name, a number or another error in an error message.
const Elided = "…"

// Errors returns the texts of the errors with which kubectl cosi and cooper exit, by message. Messages that only add
// context to another error have none.
func Errors() []Text {
	var all []Text
	for _, texts := range [][]alike{ofCluster(), ofSecrets(), ofFlags(), ofCooper(), ofMigration()} {
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
		{"kubectl cosi doctor found problems that prevent COSI from working.", "Follow the lines that begin with FAIL.", []string{"findings that need somebody to act: …"}},
		{"You do not have permission to read the Secret, which env, test and rotate need.", "Ask an administrator of the namespace for a Role with the verb get on Secrets.", []string{
			"Secret … may not be read: the right to get Secrets in namespace … is needed, and nothing else: …",
		}},
		{"Its bucket or its account has not been created yet, or its creation failed.", "Run kubectl cosi status for the access, and follow its instructions.", []string{
			"BucketAccess … is not provisioned: …", "BucketAccess … has no new credential yet: … More than ten rotations in a row are answered once a minute (…)",
		}},
		{"The access names other claims.", "Set --claim to one of the listed claims.", []string{"BucketAccess … has no claim …: it has …"}},
		{"The Secret was deleted or emptied manually.", "Wait a few minutes. If the error persists, run kubectl cosi doctor.", []string{
			"Secret … of BucketAccess … does not exist: COSI writes it again within minutes", "Secret … of BucketAccess … holds nothing: COSI fills it again within minutes",
		}},
		{"The store identifies Pods by their service account, so there is no key.", "Use the bucket in a Pod with the service account that the access names.", []string{
			"BucketAccess … authenticates by ServiceAccount …: its bucket can be tried in a Pod of that service account alone",
			"BucketAccess … authenticates by ServiceAccount: it has no credential to replace",
			"Secret … holds no credential: if its access authenticates by ServiceAccount, use it in a Pod of that service account",
		}},
		{"A BucketAccess that is being deleted gets no new credential.", "Create another BucketAccess.", []string{"BucketAccess … is being deleted, and its credentials go with it"}},
		{"Two users or programs rotate the same access.", "Run kubectl cosi status, and rotate again if the credential is too old.", []string{
			"somebody asked for another one in the meantime: kubectl cosi status says how that goes",
		}},
		{"COSI is not installed, or only in an older version.", "An administrator must install the CustomResourceDefinitions as described in docs/howto/deploy.md.", []string{
			"this cluster has no COSI …: an administrator must install its CustomResourceDefinitions: …",
		}},
		{"The installation would change the meaning of existing objects.", "Follow the message before you install anything.", []string{
			"nothing is installed, since there are objects of …: …. Migrate those of v1alpha1 first, as docs/howto/migrate-from-v1alpha1.md says; rewrite those of another version with cooper migrate-storage, as docs/howto/upgrade.md says",
			"nothing is installed, since these CustomResourceDefinitions are not Cooper's: …. Read docs/reference/upstream.md on what becomes of their objects, stop the controller and the sidecars that serve them, and say --replace-crds",
			"nothing is installed, since these BucketAccessClasses would allow access modes that they disallow now: …. Delete them, and create them again with Cooper's disallowedBucketAccessModes when its CustomResourceDefinitions are there",
		}},
		{"The CustomResourceDefinition has a different storage version than the requested one.", "Install the release with that storage version, or request the current one.", []string{
			"the storage version of … is …, not …: install the CRDs of a release that stores … first, or set --storage-version",
		}},
		{"The page lists objects with the granted credential. A write-only credential cannot list objects.", "Use a client of the store.", []string{
			"objects of buckets with protocol … cannot be listed here", "the credential may not list the objects of bucket …: …",
		}},
	}
}

// ofSecrets returns the texts of errors about credentials that an output format of kubectl cosi env cannot represent.
func ofSecrets() []alike {
	return []alike{
		{"Each format supports only some protocols, and some support only one bucket.", "Choose another format or one bucket, as the message says.", []string{
			"there is no format …: say one of …", "the format … has room for one bucket, and the access has …: say which with --claim",
			"…, and the protocol of claim … is …: take one of …",
			"Secret … holds a service account key and no HMAC key, which an S3 client needs: take gcloud or rclone",
			"Secret … holds an HMAC key, which Google's own clients do not take: take aws, rclone, s3cmd or mc",
			"s3cmd knows no endpoint with a path, such as …",
		}},
		{"The Secret contains a value that the format cannot represent safely.", "Choose the format that the message names, or json. If the value does not come from a driver, find out which user or program wrote it.", []string{
			"Secret …: its … is none of S3, Azure, GCS", "Secret …: the value of … is no URL", "Secret …: the value of … is no URL with a signature",
			"Secret …: the value of … holds characters that no driver delivers, and is not printed: see who writes that Secret, or read it with -o json",
			"Secret …: the value of … holds a character that other programs read as something else: take shell or json",
			"the value of … holds a character that programs read as something else in such a file: take shell or json",
			"Secret …: the value of … does not say which container: take shell or json",
			"the key of the service account cannot be written into one line: take gcloud", "what the Secret holds cannot be written as JSON",
			"… cannot be the name of an environment variable",
		}},
	}
}

// ofFlags returns the texts of errors in the command line.
func ofFlags() []alike {
	return []alike{{"A flag or an argument is missing or misspelt, or contradicts another one.", "Correct it as the message says. --help lists all flags and arguments.", []string{
		"…: … is not …", "… is no reason of COSI: docs/reference/reasons.md lists all", "… names no access: say access/NAME",
		"a name is of one namespace: leave out --all-namespaces, or the names", "… is none of claim/NAME, access/NAME, bucket/NAME",
		"--output … is not one of wide, json, yaml, dot", "--store-administrator and --secret contradict each other",
		"--manifests and --no-sample contradict each other", "--suffix must not be empty: the new Secret stands beside the old one",
		"--suffix … cannot end the name of a Secret: …", "--from is not set: give the name of the driver whose buckets are to move",
		"--backup is not set: give the file with the objects of v1alpha1; docs/howto/migrate-from-v1alpha1.md says how to write it",
		"--kubeconfig is not set: say how to reach the API server", "--cloud … is not one of s3, azure, gcs",
		"--kubeconfigs is not set: give a directory for the files by which components reach the API server",
		"--port … is no port: give a number from 1 to …, or 0 for a free one", "… … is no port: give a number from 1 to …, or 0 for a free one",
		"--namespace … cannot be the name of a namespace: …", "--health-address: …; give one such as 127.0.0.1:8081",
		"… cannot be the name of a driver: use a DNS name of at most … bytes such as acme.example.com",
		"--module … cannot be the path of a Go module: use one such as example.com/…",
		"address … of the page: …: give one such as 127.0.0.1:8080",
		"address … of the page can be reached from elsewhere: it shows what you may read, so give one such as 127.0.0.1:8080",
		"manifests: no file ends in .yaml; name a directory that holds some, or a file",
		"no place for files: …; say where with --data DIR",
		"… is no Kubernetes object: apiVersion, kind and metadata.name are needed",
	}}}
}

// ofCooper returns the texts of errors of cooper up and cooper new.
func ofCooper() []alike {
	return []alike{
		{"A program is starting or stopping, or cooper up is not running with this directory.", "Start cooper up, or wait a few seconds. Its log shows the progress.", []string{
			"nothing runs on …: start it with cooper up…", "the process that uses … is just starting or ending; try again", "the API server has not started yet",
			"process … does not end: …; kill -9 … ends it, and the next cooper up cleans up behind it",
		}},
		{"A part of cooper up failed, or the machine is slow.", "Read the log that the message names. If the machine is slow, increase the timeout with the flag.", []string{
			"gave up after …, as --timeout says", "gave up after …, as --sample-timeout says; … says more", "… ended by itself: …; … says more",
			"Secret … names the endpoint … of an earlier run and is not brought up to date: …; … says more",
		}},
		{"The sample or the objects of --manifests were rejected, or their driver has not finished.", "Run kubectl cosi status for the namespace, and follow its instructions.", []string{
			"… cannot be provisioned: …", "… is still not provisioned: … (…)",
			"there is no Secret …: kubectl get bucketaccess -n … says whether its access is provisioned: …",
		}},
		{"A new driver needs a new directory, and sources or a release of Cooper.", "Name another directory, or the sources, as the message says.", []string{
			"… exists, and nothing is overwritten: name another directory with --dir", "--checkout …: these are not the sources of Cooper",
			"this cooper, …, is no release that go mod tidy could find: name a directory with the sources of Cooper with --checkout",
		}},
	}
}

// ofMigration returns the texts of errors of cooper migrate.
func ofMigration() []alike {
	return []alike{
		{"The backup is from another cluster, was taken at the wrong time, or is not a list of objects.", "Take the backup again as described in docs/howto/migrate-from-v1alpha1.md, or name the correct file.", []string{
			"--backup … holds no Bucket of v1alpha1: it was taken of another cluster, or too late", "an item of the list is a … and no object",
			"it holds objects of v1alpha2: it was taken too late; take the one of before the CRDs went",
			"--backup … is not that of this cluster as it is: …; take it again, or name the other cluster with --kubeconfig",
		}},
		{"Old and new objects cannot be distinguished, because one CustomResourceDefinition contains the versions of both.", "Stop all controllers and sidecars, and fix the CustomResourceDefinitions first.", []string{
			"CustomResourceDefinition … has … and …: each of its objects is one of both, so that COSI takes the old ones for its own, and whoever deletes the old deletes the new; stop all controllers and sidecars and take … out of it, before anything else",
			"CustomResourceDefinition … is …: cooper check says what to do",
		}},
		{"An access of v1alpha2 needs one protocol, and the old object names none that v1alpha2 supports.", "Create the object manually, with the protocol that its workloads use.", []string{
			"it names no protocol, and its claim has …. Make it by hand", "v1alpha2 has no protocol …",
		}},
	}
}
