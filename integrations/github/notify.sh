#!/usr/bin/env bash
# The step of action.yml: its inputs as INPUT_*, its outputs to $GITHUB_OUTPUT.
set -uo pipefail

arguments=(--timeout "${INPUT_TIMEOUT:-2h}" -o json)
given() { if [ -n "$2" ]; then arguments+=("$1" "$2"); fi; }
flag() { if [ "$2" = true ]; then arguments+=("$1"); fi; }

given --team "${INPUT_TEAM:-}"
given --type "${INPUT_TYPE:-}"
given --deployment-url "${INPUT_DEPLOYMENT_URL:-}"
given --branch "${INPUT_BRANCH:-}"
given --sha "${INPUT_SHA:-}"
given --deduplication-key "${INPUT_DEDUPLICATION_KEY:-}"
flag --ephemeral "${INPUT_EPHEMERAL:-}"
flag --wait "${INPUT_WAIT:-}"
flag --follow "${INPUT_FOLLOW:-}"
flag --allow-no-match "${INPUT_ALLOW_NO_MATCH:-}"
flag --rerun "${INPUT_RERUN:-}"
flag --accept-different "${INPUT_ACCEPT_DIFFERENT:-}"
given --junit "${INPUT_JUNIT:-}"
if [ "${INPUT_WAIT:-}" = true ]; then given --summary "${GITHUB_STEP_SUMMARY:-}"; fi
while IFS= read -r line; do
  given --variable "${line%$'\r'}"
done <<< "${INPUT_VARIABLES:-}"

result=$(postflight notify "${arguments[@]}")
code=$?

case "$code:${INPUT_WAIT:-}" in
  0:true) outcome=passed ;;
  0:*) outcome=started ;;
  1:*) outcome=failed ;;
  2:*) outcome=canceled ;;
  4:*) outcome=different ;;
  *) outcome=trouble ;;
esac

# The delimiter is random, so that no message of a run can end the value and set another output.
end=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')
{
  echo "outcome=$outcome"
  printf 'result<<%s\n%s\n%s\n' "$end" "$result" "$end"
} >> "$GITHUB_OUTPUT"
exit "$code"
