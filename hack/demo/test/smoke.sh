#!/bin/sh
# A small test suite for the demo: requests pages of $URL and says what it saw.
#
#   URL            where the deployment runs (Postflight sets it)
#   PATHS          pages to request                        default: / /healthz /version
#   EXPECT_TEXT    must be on the first page               default: nothing
#   GREP           only pages whose path contains this     default: all
#   SLEEP_SECONDS  wait before the first request           default: 0
#   FAIL_WITH      end with this exit code at the end      default: the real outcome
#
# If the Trigger keeps results, the pages and a JUnit report are among them.

paths=${PATHS:-/ /healthz /version}
checked=0
results=$POSTFLIGHT_RESULTS_DIR
running= # the test that runs
cases=

xml() { echo "$1" | sed 's/&/\&amp;/g; s/</\&lt;/g; s/"/\&quot;/g'; }

# report adds a test with its name, and its failure if it has one, to the JUnit report.
report() {
	[ -n "$results" ] || return
	failure=${2:+"<failure message=\"$(xml "$2")\"/>"}
	cases="$cases<testcase classname=\"shop\" name=\"$(xml "$1")\">$failure</testcase>"
	echo "<testsuite name=\"smoke\">$cases</testsuite>" >"$results/junit.xml"
}

# The termination log becomes the message of the run, so it says what a person needs to know.
fail() {
	code=$1
	shift
	echo "✗ $*"
	echo "$*" >/dev/termination-log 2>/dev/null
	[ -z "$running" ] || report "$running" "$*"
	exit "$code"
}

check() {
	running="GET ${1#"$URL"}"
	# Not wget -T: in Debian 12's busybox that crashes.
	headers=$(timeout 10 wget -S -O /tmp/page "$1" 2>&1)
	outcome=$?
	status=$(echo "$headers" | sed -n 's/^ *HTTP\/[0-9.]* \([0-9]*\).*/\1/p' | tail -n 1)
	[ $outcome -eq 0 ] || fail 1 "GET $1: $(echo "${headers:-no answer}" | tail -n 1 | sed 's/^wget: //')."
	checked=$((checked + 1))
	report "$running"
	running=
	[ -z "$results" ] || cp /tmp/page "$results/page-$checked"
	echo "✓ GET $1 $status ($(wc -c </tmp/page) bytes)"
}

[ -n "$URL" ] || fail 2 "URL is not set: nothing to test."

echo "Testing $URL"
echo "  suite       ${POSTFLIGHT_SUITE_ID:--}"
echo "  environment ${POSTFLIGHT_ENVIRONMENT:--}"
echo "  branch      ${POSTFLIGHT_BRANCH:--} at ${POSTFLIGHT_SHA:--}"
sleep "${SLEEP_SECONDS:-0}"

for path in $paths; do
	case $path in *"$GREP"*) ;; *) continue ;; esac
	check "${URL%/}$path"
	if [ -n "$EXPECT_TEXT" ] && [ $checked -eq 1 ]; then
		running="the first page shows \"$EXPECT_TEXT\""
		grep -qF -- "$EXPECT_TEXT" /tmp/page || fail 1 "GET ${URL%/}$path does not show \"$EXPECT_TEXT\"."
		echo "✓ the page shows \"$EXPECT_TEXT\""
		report "$running"
		running=
	fi
done

commit=$(sed -n 's/.*"commit":"\([^"]*\)".*/\1/p' /tmp/page | cut -c 1-8) # if /version was the last
[ $checked -gt 0 ] || fail 2 "No page matches GREP=\"$GREP\"."
[ -z "$FAIL_WITH" ] || fail "$FAIL_WITH" "Failed on request: FAIL_WITH=$FAIL_WITH."

message="$checked pages requested, all as expected${commit:+, of commit $commit}."
echo "$message"
echo "$message" >/dev/termination-log 2>/dev/null
exit 0
