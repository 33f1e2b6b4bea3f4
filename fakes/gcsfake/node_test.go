// SPDX-License-Identifier: Apache-2.0

package gcsfake_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cooper-cosi/cooper/fakes/gcsfake"
	"github.com/cooper-cosi/cooper/internal/testing/fulltest"
	"github.com/cooper-cosi/cooper/internal/testing/processtest"
)

// nodeProgram uses Google's client for Node as its tutorials do: without options, and with the default of uploads, which
// is a resumable upload of unknown size.
const nodeProgram = `
const {Storage} = require("@google-cloud/storage");
const fs = require("fs");
const assert = require("assert");
const {pipeline} = require("stream/promises");

async function main() {
  const storage = new Storage();
  const [bucket] = await storage.createBucket("node");
  await bucket.file("saved").save("meow");
  await bucket.file("simple").save("simple", {resumable: false});
  await bucket.file("empty").save("");
  await bucket.upload("large.bin", {destination: "dir/large"});
  await bucket.upload("large.bin", {destination: "chunks", chunkSize: 256 * 1024});
  await pipeline(fs.createReadStream("large.bin"), bucket.file("stream").createWriteStream({gzip: true}));
  const large = fs.readFileSync("large.bin");
  for (const [name, want] of [["saved", "meow"], ["simple", "simple"], ["empty", ""], ["dir/large", large], ["chunks", large], ["stream", large]]) {
    const [got] = await bucket.file(name).download();
    assert.ok(got.equals(Buffer.from(want)), name);
  }
  await bucket.file("saved").setMetadata({metadata: {color: "black"}});
  await bucket.file("saved").copy("copied");
  await bucket.file("copied").move("moved");
  const [files] = await bucket.getFiles({prefix: "dir/"});
  assert.deepStrictEqual(files.map(f => f.name), ["dir/large"]);
  assert.deepStrictEqual((await bucket.file("moved").exists())[0], true);
  await bucket.file("saved").makePublic();
  await bucket.file("saved").makePrivate();
  await bucket.file("saved").acl.add({entity: "allAuthenticatedUsers", role: "READER"});
  const [entries] = await bucket.file("saved").acl.get();
  assert.deepStrictEqual(entries.map(e => e.entity).filter(e => e.startsWith("all")), ["allAuthenticatedUsers"]);
  await bucket.file("public").save("x", {public: true});
  await bucket.acl.default.add({entity: "allUsers", role: "READER"});
  const [policy] = await bucket.iam.getPolicy({requestedPolicyVersion: 3});
  assert.ok(policy.bindings.length > 0);
  await storage.getServiceAccount();
  assert.strictEqual((await storage.getBuckets())[0].length, 1);
  await bucket.deleteFiles();
  await bucket.delete();
  console.log("done");
}

main().catch(e => { console.error(e); process.exit(1); });
`

// TestGooglesClientForNode runs it with STORAGE_EMULATOR_HOST.
func TestGooglesClientForNode(t *testing.T) {
	t.Parallel()
	fulltest.Only(t, "TestUploadsOfUnknownSize sends its requests")
	sh := processtest.NewShell(t, "node")
	packages, err := exec.CommandContext(t.Context(), "bash", "../../hack/npm.sh", "clients").Output()
	if err != nil {
		t.Skipf("Google's client for Node cannot be installed with hack/npm.sh: %v", err)
	}
	f := start(t, gcsfake.Options{AnonymousIs: "cooper-admin"})
	sh.Set("NODE_PATH="+strings.TrimSpace(string(packages)), "STORAGE_EMULATOR_HOST="+f.URL(), "GOOGLE_CLOUD_PROJECT=any-project", "HOME="+t.TempDir())
	wantNoError(t, os.WriteFile(filepath.Join(sh.Dir, "program.js"), []byte(nodeProgram), 0o600))
	if out := sh.Must("node", "program.js"); !strings.Contains(out, "done") {
		t.Errorf("it printed %s", out)
	}
}
