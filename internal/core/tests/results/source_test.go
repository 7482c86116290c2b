package results_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/internal/core/tests/results"
)

// TestSource: the log says in which file a test is, also if its tool names the file as a class or a suite.
func TestSource(t *testing.T) {
	for name, tc := range map[string]struct{ reason, report, want string }{
		"file":       {"The report says it.", `<testsuite name="a.py"><testcase name="x" classname="b.ts" file="c"/></testsuite>`, "c"},
		"suite's":    {"The report says it.", `<testsuite file="d"><testcase name="x" classname="b.ts"/></testsuite>`, "d"},
		"class":      {"Playwright does so.", `<testsuite name="a.py"><testcase name="x" classname="shop/b.spec.ts"/></testsuite>`, "shop/b.spec.ts"},
		"suite":      {"The innermost counts.", `<testsuite name="a.cy.js"><testsuite name="b.cjsx"><testsuite name="c"><testcase name="x"/></testsuite></testsuite></testsuite>`, "b.cjsx"},
		"Java":       {"A package is no folder.", `<testsuite name="s"><testcase name="x" classname="com.example.CartTest"/></testsuite>`, ""},
		"spaces":     {"It is a sentence.", `<testsuite name="s"><testcase name="x" classname="starts main.go"/></testsuite>`, ""},
		"a line end": {"It is a text.", `<testsuite name="s"><testcase name="x" classname="a&#10;main.go"/></testsuite>`, ""},
		"only a dot": {"It has no name.", `<testsuite name="s"><testcase name="x" classname=".go"/></testsuite>`, ""},
		"no dot":     {"It is a word.", `<testsuite name="go"><testcase name="x" classname="go"/></testsuite>`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			tests := &results.Tests{}
			tests.Add("r.xml", strings.NewReader(tc.report))
			packed, err := gzip.NewReader(bytes.NewReader(tests.Log.Content(nil, time.Time{}, time.Time{}, tests.Counts)))
			if err != nil {
				t.Fatal(err)
			}
			var header results.LogHeader
			var line httpapi.Test
			lines := json.NewDecoder(packed)
			if err := lines.Decode(&header); err != nil || header.Tests != 1 {
				t.Fatalf("%+v, %v", header, err)
			}
			if err := lines.Decode(&line); err != nil || line.Name == "" || line.File != tc.want {
				t.Errorf("%s\nthe file is %q, want %q, %v", tc.reason, line.File, tc.want, err)
			}
		})
	}
}
