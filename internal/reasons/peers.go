// SPDX-License-Identifier: Apache-2.0

package reasons

// ofPeers returns the texts of errors of cooper if it is started with the command line of Azurite, MinIO,
// fake-gcs-server or LocalStack.
func ofPeers() []alike {
	return []alike{
		{"The command line is that of a program that cooper replaces, and the fake has no equivalent of the option.", "Remove the option, or start cooper fakes with its own flags.", []string{
			"cooper does not support the option …: …", "cooper does not support the option …; use the flags of `cooper help fakes`",
			"cooper does not support the scheme …: start one process for http and one for https",
		}},
		{"The command line of the program that cooper replaces is not valid.", "Correct the command line.", []string{
			"option … requires a value", "the command line has an unexpected argument: …", "the options location and inMemoryPersistence are mutually exclusive",
		}},
		{"The fakes replace only the part of the program that serves objects or blobs.", "Use the command in the message, or the original program.", []string{
			"cooper does not serve …", "cooper supports only the command `minio server DIRECTORY`", "cooper supports only one local directory: `minio server DIRECTORY`",
			"cooper supports only the command `localstack start`",
		}},
	}
}
