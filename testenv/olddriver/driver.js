// SPDX-License-Identifier: Apache-2.0

// A driver of COSI v1alpha1 for stores with S3 and IAM, written only from that specification: an ID is returned after the
// resource exists, a repeated grant creates another key, and a call during another call for the same name returns ABORTED.
// It is for tests of the components that serve such drivers.
//
//   COSI_ENDPOINT=unix:///path/to/driver.sock AWS_ENDPOINT_URL=... AWS_ACCESS_KEY_ID=... AWS_SECRET_ACCESS_KEY=... node driver.js
//
// Parameters of a bucket become its tags. The only parameter of an access is readOnly. The driver prints a line when a
// call begins and ends, and for each request to the store.
'use strict';

const { createHash, createHmac } = require('node:crypto');
const { resolve } = require('node:path');
const { rmSync } = require('node:fs');
const grpc = require('@grpc/grpc-js');
const { loadSync } = require('@grpc/proto-loader');

const { COSI_ENDPOINT, AWS_ENDPOINT_URL, AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY } = process.env;
const region = process.env.AWS_DEFAULT_REGION || 'us-east-1';
const name = process.env.DRIVER_NAME || 'olddriver.cooper.dev';
const { v1alpha1 } = grpc.loadPackageDefinition(loadSync('proto/v1alpha1/v1alpha1.proto', {
  includeDirs: [resolve(__dirname, '../..')], enums: String, defaults: true,
})).cosi;

const { status } = grpc;
function fail(code, details) {
  throw Object.assign(new Error(details), { code, details });
}

// The store: requests with Signature Version 4.

const sha256 = (text) => createHash('sha256').update(text).digest('hex');
const hmac = (key, text) => createHmac('sha256', key).update(text).digest();

// Codes of the store that are not this driver's fault; all others are INTERNAL.
const codes = {
  AccessDenied: status.PERMISSION_DENIED, InvalidBucketName: status.INVALID_ARGUMENT, ValidationError: status.INVALID_ARGUMENT,
  BucketAlreadyExists: status.ALREADY_EXISTS, BucketNotEmpty: status.FAILED_PRECONDITION, InvalidTag: status.INVALID_ARGUMENT,
};

// ask makes a request and returns the body; accepted are codes of errors that it returns in place of one.
async function ask(service, method, path, { query = '', body = '', accepted = [] } = {}) {
  const url = new URL(AWS_ENDPOINT_URL);
  const at = new Date().toISOString().replace(/[-:]|\.\d+/g, '');
  const headers = { host: url.host, 'x-amz-content-sha256': sha256(body), 'x-amz-date': at };
  const signed = Object.keys(headers).join(';');
  const lines = Object.entries(headers).map(([key, value]) => `${key}:${value}\n`).join('');
  const canonical = [method, path, query && `${query}=`, lines, signed, sha256(body)].join('\n');
  const scope = [at.slice(0, 8), region, service, 'aws4_request'];
  const key = scope.reduce(hmac, `AWS4${AWS_SECRET_ACCESS_KEY}`);
  const signature = hmac(key, ['AWS4-HMAC-SHA256', at, scope.join('/'), sha256(canonical)].join('\n')).toString('hex');
  headers.authorization = `AWS4-HMAC-SHA256 Credential=${AWS_ACCESS_KEY_ID}/${scope.join('/')}, SignedHeaders=${signed}, Signature=${signature}`;
  if (service === 'iam') headers['content-type'] = 'application/x-www-form-urlencoded';
  delete headers.host; // fetch sets it
  const response = await fetch(`${url.origin}${path}${query && `?${query}=`}`, { method, headers, body: body || undefined })
    .catch((error) => fail(status.UNAVAILABLE, `the store does not respond: ${error.message}`));
  const text = await response.text();
  console.log(`store: ${service} ${method} ${path} ${service === 'iam' ? new URLSearchParams(body).get('Action') : query} ${response.status}`);
  if (response.ok) return { text };
  const code = first(text, 'Code') || (response.status === 404 ? 'NoSuchBucket' : '');
  if (accepted.includes(code)) return { text: '', code };
  const fallback = response.status >= 500 ? status.UNAVAILABLE : status.INTERNAL;
  return fail(codes[code] ?? fallback, `the store refuses ${method} ${path}: ${response.status} ${code} ${first(text, 'Message') || ''}`);
}

const all = (xml, tag) => [...xml.matchAll(new RegExp(`<${tag}>([^<]*)</${tag}>`, 'g'))].map((match) => match[1]);
const first = (xml, tag) => all(xml, tag)[0];

const s3 = (method, bucket, options) => ask('s3', method, `/${encodeURIComponent(bucket)}`, options);
const iam = (Action, fields, ...accepted) => ask('iam', 'POST', '/', {
  body: new URLSearchParams({ Action, Version: '2010-05-08', ...fields }).toString(), accepted,
});

// The calls of the specification.

const bucketPrefix = 'arn:aws:s3:::';
const nameOf = (bucketId) => (bucketId.startsWith(bucketPrefix)
  ? bucketId.slice(bucketPrefix.length) : fail(status.INVALID_ARGUMENT, `bucket_id ${bucketId} is none of ours`));

const escaped = (text) => text.replace(/[<>&]/g, (c) => `&#${c.charCodeAt(0)};`);

// tagsOf returns the tags of a bucket that this driver made, or nothing.
async function tagsOf(bucket) {
  const { text } = await s3('GET', bucket, { query: 'tagging', accepted: ['NoSuchTagSet', 'NoSuchBucket'] });
  const keys = all(text, 'Key');
  const values = all(text, 'Value');
  return keys.includes('made-by') ? JSON.stringify(keys.map((key, i) => [key, values[i]]).sort()) : undefined;
}

async function create({ name: bucket, parameters }) {
  const tags = Object.entries({ ...parameters, 'made-by': name }).map(([key, value]) => [escaped(key), escaped(value)]).sort();
  const body = '<CreateBucketConfiguration xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Tags>'
    + `${tags.map(([key, value]) => `<Tag><Key>${key}</Key><Value>${value}</Value></Tag>`).join('')}</Tags></CreateBucketConfiguration>`;
  await s3('PUT', bucket, { body, accepted: ['BucketAlreadyOwnedByYou'] });
  if (await tagsOf(bucket) !== JSON.stringify(tags)) {
    fail(status.ALREADY_EXISTS, `bucket ${bucket} exists with other parameters, or is not ours`);
  }
  return { bucketId: bucketPrefix + bucket, bucketInfo: { s3: { region, signatureVersion: 'S3V4' } } };
}

async function remove({ bucketId }) {
  const { code } = await s3('HEAD', nameOf(bucketId), { accepted: ['NoSuchBucket'] });
  if (code) return {};
  if (!await tagsOf(nameOf(bucketId))) fail(status.FAILED_PRECONDITION, `bucket ${bucketId} is not ours`);
  await s3('DELETE', nameOf(bucketId), { accepted: ['NoSuchBucket'] });
  return {};
}

async function keysOf(user) {
  const { text } = await iam('ListAccessKeys', { UserName: user }, 'NoSuchEntity');
  return all(text, 'AccessKeyId');
}

async function grant({ bucketId, name: user, authenticationType, parameters: { readOnly = 'false', ...unknown } }) {
  if (authenticationType !== 'Key') fail(status.INVALID_ARGUMENT, 'authentication_type must be Key');
  if (Object.keys(unknown).length || !['true', 'false'].includes(readOnly)) {
    fail(status.INVALID_ARGUMENT, 'the one parameter is readOnly, true or false');
  }
  const bucket = nameOf(bucketId);
  if ((await s3('HEAD', bucket, { accepted: ['NoSuchBucket'] })).code) fail(status.NOT_FOUND, `bucket ${bucketId} does not exist`);
  let { text } = await iam('GetUser', { UserName: user }, 'NoSuchEntity');
  if (!text) ({ text } = await iam('CreateUser', { UserName: user, Path: `/${bucket}/` }));
  if (first(text, 'Path') !== `/${bucket}/`) fail(status.ALREADY_EXISTS, `account ${user} exists for another bucket`);
  const Action = ['s3:ListBucket', 's3:GetObject', ...(readOnly === 'true' ? [] : ['s3:PutObject', 's3:DeleteObject'])];
  const policy = { Version: '2012-10-17', Statement: [{ Effect: 'Allow', Action, Resource: [bucketId, `${bucketId}/*`] }] };
  await iam('PutUserPolicy', { UserName: user, PolicyName: 'bucket', PolicyDocument: JSON.stringify(policy) });
  for (const key of await keysOf(user)) await iam('DeleteAccessKey', { UserName: user, AccessKeyId: key });
  const { text: key } = await iam('CreateAccessKey', { UserName: user });
  const secrets = { accessKeyID: first(key, 'AccessKeyId'), accessSecretKey: first(key, 'SecretAccessKey'), endpoint: AWS_ENDPOINT_URL, region };
  return { accountId: first(text, 'Arn'), credentials: { s3: { secrets } } };
}

async function revoke({ accountId }) {
  const user = accountId.slice(accountId.lastIndexOf('/') + 1);
  for (const key of await keysOf(user)) await iam('DeleteAccessKey', { UserName: user, AccessKeyId: key }, 'NoSuchEntity');
  await iam('DeleteUserPolicy', { UserName: user, PolicyName: 'bucket' }, 'NoSuchEntity');
  await iam('DeleteUser', { UserName: user }, 'NoSuchEntity');
  return {};
}

// Calls of one name, or ID, do not overlap.
const pending = new Set();

// serve returns the handler of a call. The fields are required; the last one is the name or ID of the resource.
function serve(call, ...required) {
  return async ({ request }, callback) => {
    const about = request[required.at(-1)]?.split(/[:/]/).at(-1);
    const label = `${call.name} ${about}`;
    const mine = !pending.has(about);
    let outcome = 'OK';
    console.log(`begins: ${label}`);
    try {
      for (const field of required) if (!request[field]) fail(status.INVALID_ARGUMENT, `${field} is missing`);
      if (!mine) fail(status.ABORTED, `a call for ${about} is under way`);
      pending.add(about);
      const response = await call(request);
      callback(null, response);
    } catch (error) {
      outcome = error.details || error.stack;
      callback({ code: error.code ?? status.INTERNAL, details: outcome });
    } finally {
      if (mine) pending.delete(about);
      console.log(`ends: ${label} ${outcome}`);
    }
  };
}

const server = new grpc.Server();
server.addService(v1alpha1.Identity.service, { driverGetInfo: (_, callback) => callback(null, { name }) });
server.addService(v1alpha1.Provisioner.service, {
  driverCreateBucket: serve(create, 'name'),
  driverDeleteBucket: serve(remove, 'bucketId'),
  driverGrantBucketAccess: serve(grant, 'bucketId', 'name'),
  driverRevokeBucketAccess: serve(revoke, 'bucketId', 'accountId'),
});
rmSync(new URL(COSI_ENDPOINT).pathname, { force: true });
server.bindAsync(COSI_ENDPOINT, grpc.ServerCredentials.createInsecure(), (error) => {
  if (error) throw error;
  console.log(`driver ${name} serves ${COSI_ENDPOINT}`);
});
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => { server.forceShutdown(); process.exit(0); });
