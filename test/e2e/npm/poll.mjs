// Waits for a run with the published client, and prints what its caller gets as one line of JSON.
//
//   node poll.mjs '{"apiKey": "...", "serviceBase": "...", "poll": {"runId": "...", "abortOnSuperseded": true}}'
import { createRequire } from "node:module";

const { makeQaWolfSdk } = createRequire(import.meta.url)("@qawolf/ci-sdk");

const { poll, ...config } = JSON.parse(process.argv[2]);
const lines = [];
const stages = [];
const keep = (line) => lines.push(line);
const sdk = makeQaWolfSdk(config, { log: { error: keep, info: keep, warn: keep } });
const status = await sdk.pollCiGreenlightStatus({
  runInProgressInterval: 300,
  retryInterval: 300,
  ...poll,
  onRunStageChanged: ({ runStage }) => stages.push(runStage),
});
console.log(JSON.stringify({ ...status, stages, log: lines }));
