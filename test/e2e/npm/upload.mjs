// Uploads a file with the published client, as its README does, and prints what its caller gets as one
// line of JSON.
//
//   node upload.mjs '{"apiKey": "...", "serviceBase": "...", "file": "app.apk", "destination": "builds/app.apk"}'
//
// With "teamStorage": true, it asks for the storage of the team.
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";

const { makeQaWolfSdk } = createRequire(import.meta.url)("@qawolf/ci-sdk");

const { file, destination, teamStorage, ...config } = JSON.parse(process.argv[2]);
const silent = () => {};
const sdk = makeQaWolfSdk(config, { log: { error: silent, info: silent, warn: silent } });
const sign = teamStorage ? sdk.generateSignedUrlForTempTeamStorage : sdk.generateSignedUrlForRunInputsExecutablesStorage;
const signed = await sign({ destinationFilePath: destination });
if (signed.success) {
  const answer = await fetch(signed.uploadUrl, {
    body: await readFile(file),
    headers: { "Content-Type": "application/octet-stream" },
    method: "PUT",
  });
  signed.putStatus = answer.status;
}
console.log(JSON.stringify(signed));
