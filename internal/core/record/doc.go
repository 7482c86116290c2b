// Package record defines what the archive keeps of a run, and under which key: the record of the run, its logs, its
// results and its artifacts. It does the same for the deployments of Environments, and for notifications.
//
// It is pure. All keys start with the team's id and "postflight-runs", which no path of an input can name:
//
//	acme/postflight-runs/day=2026-11-21/T093005Z-smoke-3f9c2k7q5x/run.json
//	                                                             /attestation.sigstore.json
//	                                                             /logs/POD/CONTAINER.log.gz
//	                                                             /results/POD.json
//	                                                             /artifacts/POD/PATH
//	acme/postflight-runs/ids/smoke-3f9c2k7q5x/2026-11-21T093005Z
//	acme/postflight-runs/notifications/day=2026-11-21/T09-k7q5xw2n4d-0.jsonl.gz
//	acme/postflight-runs/environments/staging/acme-shop-d21b2cdf12b7/8204485599-2026-11-24T100000Z-61be55a8.json
//
// The day and the time are when the Suite was created, so that every part of Postflight derives the same key at
// any time, and a listing is in the order of time. A listing of deployments has the newest first. The empty object below
// ids finds a run whose Suite is gone.
package record
