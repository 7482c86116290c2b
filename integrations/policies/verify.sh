#!/usr/bin/env bash
# verify.sh IMAGE@sha256:DIGEST [KEYS]: fails unless the image has verdicts that cosign can verify, and that rule.json accepts. It needs
# cosign 3, opa 1 and jq, and neither Postflight nor its command line.
set -euo pipefail
image=$1 keys=${2:-postflight.pem}
digest=${image##*@sha256:}
[[ $digest =~ ^[0-9a-f]{64}$ ]] || { echo "$image has no digest: a tag can move after the check" >&2; exit 2; }
policies=$(dirname "${BASH_SOURCE[0]}")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# cosign takes one key, and Postflight has two while they are rotated. A newer verdict may be signed by the other, so all are collected.
awk -v to="$scratch/key" '/BEGIN PUBLIC KEY/ { file = to (++n) } file { print > file } /END PUBLIC KEY/ { file = "" }' "$keys"
for key in "$scratch"/key*; do
  # cosign checks the signature, that the digest is a subject, and the type. It would ask for a transparency log, which there is not.
  cosign verify-attestation --key "$key" --insecure-ignore-tlog --output json \
    --type https://in-toto.io/attestation/test-result/v0.1 "$image" >>"$scratch/verified" 2>"$scratch/errors" ||
    # Any other trouble could hide a newer verdict.
    grep -q 'no matching attestations' "$scratch/errors" || { cat "$scratch/errors" >&2; exit 3; }
done
[ -s "$scratch/verified" ] || { echo "$image has no verdict that one of the keys signed." >&2; exit 1; }
jq -cs --arg digest "$digest" '{digest: $digest, statements: [.[] | .payload | @base64d | fromjson]}' \
  "$scratch/verified" >"$scratch/input.json"
opa eval -d "$policies/verdict.rego" -d "$policies/rule.json" -i "$scratch/input.json" \
  --format raw --fail-defined 'data.postflight.deny[_]' ||
  { echo "$image may not be deployed." >&2; exit 1; }
