// Notifies once with the published client, and prints what its caller gets as one line of JSON.
//
//   node notify.mjs '{"apiKey": "...", "serviceBase": "...", "deployment": {"branch": "main"}}'
//
// The ESM build of this version lacks the file extensions that Node.js asks for, hence require.
import { createRequire } from "node:module";

const { makeQaWolfSdk } = createRequire(import.meta.url)("@qawolf/ci-sdk");

const { deployment, ...config } = JSON.parse(process.argv[2]);
const lines = [];
const keep = (line) => lines.push(line);
const sdk = makeQaWolfSdk(config, { log: { error: keep, info: keep, warn: keep } });
const status = await sdk.attemptNotifyDeploy(deployment);
console.log(JSON.stringify({ ...status, log: lines }));
