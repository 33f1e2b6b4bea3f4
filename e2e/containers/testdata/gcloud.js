// SPDX-License-Identifier: Apache-2.0

// Starts the image with the module for fake-gcs-server, and uses it at the module's URL. Arguments: the image, and the name
// and value of a label for the container.
const assert = require("node:assert");
const {Storage} = require("@google-cloud/storage");
const {CloudStorageEmulatorContainer} = require("@testcontainers/gcloud");

async function main(image, label, value) {
  const container = await new CloudStorageEmulatorContainer(image).withLabels({[label]: value}).start();
  try {
    const storage = new Storage({projectId: "test-project", apiEndpoint: container.getExternalUrl()});
    const [photos] = await storage.createBucket("photos");
    await photos.file("cat").save("meow");
    assert.strictEqual((await photos.file("cat").download())[0].toString(), "meow");
  } finally {
    await container.stop();
  }
}

main(...process.argv.slice(2)).catch(e => { console.error(e); process.exit(1); });
