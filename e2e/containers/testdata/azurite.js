// SPDX-License-Identifier: Apache-2.0

// Starts the image with the module for Azurite, and uses it with the module's connection string. Arguments: the image, and
// the name and value of a label for the container.
const assert = require("node:assert");
const {BlobServiceClient} = require("@azure/storage-blob");
const {AzuriteContainer} = require("@testcontainers/azurite");

async function main(image, label, value) {
  const container = await new AzuriteContainer(image).withLabels({[label]: value}).start();
  try {
    const photos = BlobServiceClient.fromConnectionString(container.getConnectionString()).getContainerClient("photos");
    await photos.create();
    await photos.getBlockBlobClient("cat").upload("meow", 4);
    assert.strictEqual((await photos.getBlobClient("cat").downloadToBuffer()).toString(), "meow");
  } finally {
    await container.stop();
  }
}

main(...process.argv.slice(2)).catch(e => { console.error(e); process.exit(1); });
