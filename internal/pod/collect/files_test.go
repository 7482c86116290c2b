package collect

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/record"
	"github.com/postflight-dev/postflight/internal/core/tests/results"
)

func TestChoose(t *testing.T) {
	const gib = 1 << 30
	many := make([]file, 1002)
	for i := range many {
		many[i] = file{path: fmt.Sprintf("f%04d", i), bytes: int64(i)}
	}
	for name, tc := range map[string]struct {
		reason string
		files  []file
		want   []string
		lost   []string
	}{
		"Order": {"Reports first, then small before large.",
			[]file{{"z", 1, false}, {"big.xml", 900, true}, {"a", 1, false}, {"b", 0, false}, {"small.xml", 800, true}},
			[]string{"small.xml", "big.xml", "b", "a", "z"}, nil},
		"Exactly one GiB": {"It is kept.", []file{{"a", gib, false}}, []string{"a"}, nil},
		"Too large": {"One byte is too many.", []file{{"a", gib + 1, false}, {"b", 1, false}}, []string{"b"},
			[]string{"a was not kept: larger than 1 GiB."}},
		"Two GiB": {"They are kept.", []file{{"a", gib, false}, {"b", gib, false}}, []string{"a", "b"}, nil},
		"Beyond two GiB": {"Small files come first.", []file{{"a", gib, false}, {"b", gib, false}, {"c", 1, false}, {"d", gib, false}},
			[]string{"c", "a"},
			[]string{"b and 1 more were not kept: beyond the 2 GiB that are kept of a run."}},
		"A large report": {"Not even a report may be larger.", []file{{"a.xml", gib + 1, true}},
			nil, []string{"a.xml was not kept: larger than 1 GiB."}},
	} {
		t.Run(name, func(t *testing.T) {
			var lost losses
			var got []string
			for _, f := range choose(tc.files, &lost) {
				got = append(got, f.path)
			}
			if diff := cmp.Diff(tc.want, got) + cmp.Diff(tc.lost, lost.sentences()); diff != "" {
				t.Errorf("%s\n%s", tc.reason, diff)
			}
		})
	}
	var lost losses
	kept := choose(many, &lost)
	if len(kept) != 1000 || kept[999].path != "f0999" {
		t.Errorf("%d are kept, up to %s", len(kept), kept[len(kept)-1].path)
	}
	if diff := cmp.Diff([]string{"f1000 and 1 more were not kept: beyond the 1,000 files that are kept of a run."},
		lost.sentences()); diff != "" {
		t.Error(diff)
	}
}

// TestBatch: no request is larger than the manager accepts, whatever JSON makes of the names.
func TestBatch(t *testing.T) {
	for _, name := range []string{strings.Repeat("n", 511), strings.Repeat(`"`, 511), strings.Repeat("<", 511), strings.Repeat("\u2028", 170),
		strings.Repeat("é", 255), "a"} {
		files := make([]file, 1000)
		for i := range files {
			files[i] = file{path: fmt.Sprintf("%s%d", name[:len(name)-1], i%10), bytes: record.MaxArtifactBytes}
		}
		n := batch(files)
		if size := len(encode(httpapi.CollectRequest{Files: requested(files[:n])})); size > 512<<10 || n == 0 || (n < 1000 && size < 100<<10) {
			t.Errorf("%d files of 1000 make a request of %d bytes", n, size)
		}
	}
}

// TestDocument: the manager signs every document, also one with the longest texts.
func TestDocument(t *testing.T) {
	w := &collection{Collector: &Collector{Report: func(results.Summary) {}}}
	for i := range 1000 {
		w.tests.Failures = append(w.tests.Failures, results.Failure{TestFailure: v1alpha1.TestFailure{
			Name: strings.Repeat("<", 512), File: strings.Repeat(`"`, 512), Message: strings.Repeat(`\`,
				1024), Line: 1 << 30, History: v1alpha1.FailureKnown,
		}, Text: strings.Repeat(`"`, 4096), Attachments: slices.Repeat([]string{strings.Repeat("&", 508) + "1"}, 8)})
		w.tests.Flaky = append(w.tests.Flaky, strings.Repeat(`"`, 512))
		w.keep(file{path: strings.Repeat("&", 508) + fmt.Sprint(i), bytes: record.MaxArtifactBytes})
		w.lost.add(strings.Repeat("<", 512), fmt.Sprint(i))
	}
	w.tests.Flaky = w.tests.Flaky[:20]
	content := encode(w.document("smoke-1"))
	if len(content) > record.MaxResultsBytes*15/16 {
		t.Errorf("%d bytes", len(content))
	}
	if d, err := results.ParseDocument(content); err != nil || len(d.Files) != 1000 || len(d.Problems) != maxProblems {
		t.Errorf("%v, %d files, %d problems", err, len(d.Files), len(d.Problems))
	}
}

func TestCannotRead(t *testing.T) {
	for _, tc := range []struct {
		err  error
		want string
	}{
		{&fs.PathError{Op: "open", Path: "/secret", Err: syscall.EACCES}, "not readable by the user of the collector (permission denied)"},
		{&fs.PathError{Op: "open", Path: "/secret", Err: syscall.EIO}, "not readable (input/output error)"},
		{errors.New("/secret"), "not readable"},
		{os.ErrPermission, "not readable by the user of the collector (permission denied)"},
	} {
		if got := cannotRead(tc.err); got != tc.want {
			t.Errorf("%v: want %q, got %q", tc.err, tc.want, got)
		}
	}
}
