#!/bin/sh
# A test that needs a file: prints its SHA-256, so that you can check that it is the right one.
#
#   RUN_INPUT_PATH   absolute path of the file, once Postflight has put it there

fail() {
	echo "✗ $*"
	echo "$*" >/dev/termination-log 2>/dev/null
	exit 1
}

[ -n "$RUN_INPUT_PATH" ] || fail "RUN_INPUT_PATH is not set: the notification named no file."
[ -r "$RUN_INPUT_PATH" ] || fail "$RUN_INPUT_PATH cannot be read."

sum=$(sha256sum "$RUN_INPUT_PATH") || fail "$RUN_INPUT_PATH cannot be read to its end."
message="sha256 ${sum%% *} of $RUN_INPUT_PATH ($(wc -c <"$RUN_INPUT_PATH") bytes)"
echo "Files in $RUN_INPUTS_DIR:"
ls -lR "$RUN_INPUTS_DIR"
echo "$message"
echo "$message" >/dev/termination-log 2>/dev/null
exit 0
