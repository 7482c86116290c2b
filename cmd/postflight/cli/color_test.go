package cli

import (
	"bytes"
	"io"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/client"
)

// TestColors: on a terminal, each state has its color, and a table is the same as without colors.
func TestColors(t *testing.T) {
	rows := [][]string{{"RUN", "STATE", "ROLLOUT", "BRANCH"}}
	for i, state := range append(v1alpha1.States(), "Passed (3 quarantined)", "Later", "") {
		rows = append(rows, []string{strings.Repeat("r", i), state, "Ready", "Failed\x1b[2J"})
	}
	tables := [][][]string{rows, {{"Run:", "smoke-1"}, {"State:", "Failed"}, {"Why:", "Failed"}},
		{{"", "CHECK"}, {"✓", "CRDs"}, {"✗", "leader"}, {"", "→ look"}}}
	print := func(rows [][]string, c *Console) string {
		var out bytes.Buffer
		c.Out = &out
		if err := c.Table(rows); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	all := ""
	for _, rows := range tables {
		plain, colored := print(rows, &Console{}), print(rows, &Console{Terminal: true})
		if diff := cmp.Diff(trimmed(plain), trimmed(colored)); diff != "" {
			t.Errorf("the table differs without its colors: %s", diff)
		}
		if got := print(rows, &Console{Terminal: true, Plain: true}); got != plain {
			t.Errorf("colors in spite of NO_COLOR: %q", got)
		}
		all += colored
	}
	got := map[string]string{}
	for _, m := range regexp.MustCompile("\x1b\\[(\\d\\d)m([^\x1b]+)\x1b").FindAllStringSubmatch(all, -1) {
		got[m[2]] = m[1]
	}
	want := map[string]string{"Passed": "32", "Failed": "31", "TimedOut": "31", "Error": "31", "Inconclusive": "33", "Canceled": "90", "Superseded": "90",
		"Queued": "34", "Starting": "34", "Running": "34", "Passed (3 quarantined)": "33", "Later": "39", "Ready": "32", "STATE": "39", "ROLLOUT": "39",
		"✓": "32", "✗": "31"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("colors (-want +got): %s", diff)
	}
	if n := strings.Count(all, "\x1b[31mFailed"); n != 2 {
		t.Errorf("Failed is red %d times, want it in the column of states and after State: only", n)
	}
}

// trimmed is a table without colors, and without spaces at the ends of lines.
func trimmed(table string) string {
	plain := regexp.MustCompile(`\x1b\[\d+m`).ReplaceAllString(table, "")
	return regexp.MustCompile(` +\n`).ReplaceAllString(plain, "\n")
}

// TestPlain: colors are for terminals of people who want them.
func TestPlain(t *testing.T) {
	for name, tc := range map[string]struct {
		env  map[string]string
		want bool
	}{"as usual": {nil, false}, "NO_COLOR": {map[string]string{"NO_COLOR": "1"}, true}, "an empty NO_COLOR": {map[string]string{"NO_COLOR": ""}, false},
		"a dumb terminal": {map[string]string{"TERM": "dumb"}, true}} {
		c := newConsole(io.Discard, os.Stderr, func(name string) string { return tc.env[name] })
		if c.Plain != tc.want || c.Terminal {
			t.Errorf("%s: %+v", name, c)
		}
	}
	c, plain := &Console{Live: true}, &Console{Live: true, Plain: true}
	if got := c.failureMark(client.TestFailure{}); got != "\x1b[31m✗ \x1b[0m" {
		t.Errorf("%q", got)
	}
	if got := plain.failureMark(client.TestFailure{}) + (&Console{}).failureMark(client.TestFailure{}); got != "✗ ✗ " {
		t.Errorf("%q", got)
	}
}
