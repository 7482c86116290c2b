package archive

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	testclock "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"

	"k8s.io/apimachinery/pkg/types"

	"github.com/postflight-dev/postflight/internal/core/record"
	"github.com/postflight-dev/postflight/internal/core/text/apierror"
)

// connections are what each attempt to open a log comes to, in order.
type connections []connection

type connection struct {
	opens error
	text  string
	ends  error // nil: io.EOF
}

func (c *connections) Open(context.Context, string, string, corev1.PodLogOptions) (io.ReadCloser, error) {
	next := (*c)[0]
	*c = (*c)[1:]
	if next.opens != nil {
		return nil, next.opens
	}
	rest := io.Reader(strings.NewReader(""))
	if next.ends != nil {
		rest = failing{next.ends}
	}
	return io.NopCloser(io.MultiReader(strings.NewReader(next.text), rest)), nil
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

func TestContainerLog(t *testing.T) {
	broken := errors.New("connection reset")
	runs, ended := func() bool { return true }, func() bool { return false }
	for name, tc := range map[string]struct {
		reason      string
		connections connections
		runs        func() bool
		want        string
		err         error
	}{
		"Whole":       {"one connection", connections{{text: "abc"}}, nil, "abc", nil},
		"WholeFollow": {"until the container has ended", connections{{text: "abc"}}, ended, "abc", nil},
		"Broken":      {"it goes on where it was", connections{{text: "ab", ends: broken}, {text: "abc"}}, nil, "abc", nil},
		"BrokenTwice": {"each time", connections{{text: "a", ends: broken}, {opens: broken}, {text: "ab", ends: broken}, {text: "abc"}}, nil, "abc", nil},
		"OpenedLate":  {"a connection that ends before the answer", connections{{text: "ab", ends: broken}, {opens: &url.Error{Err: io.EOF}}, {text: "abc"}}, nil, "abc", nil},
		"BrokenGone":  {"the rest is lost", connections{{text: "ab", ends: broken}, {opens: apierror.ErrLogGone}}, nil, "ab", apierror.ErrLogGone},
		"Hidden":      {"the API server hides a break", connections{{text: "ab"}, {text: "abc", ends: broken}, {opens: apierror.ErrLogGone}}, runs, "abc", apierror.ErrLogGone},
		"EndedLate":   {"the kubelet removed it before it reported the end", connections{{text: "abc"}, {opens: apierror.ErrLogGone}}, runs, "abc", nil},
		"RemovedLate": {"the same, as the text of the log", connections{{text: "abc"}, {ends: apierror.ErrLogGone}}, runs, "abc", nil},
		"EndUnknown":  {"it is believed in the end", slices.Repeat(connections{{text: "abc"}}, endChecks+1), runs, "abc", nil},
		"Rotated":     {"another file", connections{{text: "abc", ends: broken}, {text: "c"}}, nil, "abc", errAny},
		"NotOpened":   {"nothing was read", connections{{opens: apierror.ErrLogGone}}, nil, "", apierror.ErrLogGone},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := openLog(t.Context(), &tc.connections, "demo", record.Source{Pod: "pod", Container: "test"}, tc.runs)
				defer l.Close()
				got, err := io.ReadAll(l)
				if string(got) != tc.want || (err == nil) != (tc.err == nil) || !errors.Is(tc.err, errAny) && !errors.Is(err, tc.err) {
					t.Errorf("%s: %q, %v; want %q, %v", tc.reason, got, err, tc.want, tc.err)
				}
				if int64(len(got)) != l.read || (l.err == nil) != (err == nil) {
					t.Errorf("%s: it says %d bytes, %v", tc.reason, l.read, l.err)
				}
			})
		})
	}
}

var errAny = errors.New("any")

// TestContainerLogEndsWithItsTime: what was read until then is not lost.
func TestContainerLogEndsWithItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), resumePause/2)
		defer cancel()
		l := openLog(ctx, &connections{{text: "abc", ends: errors.New("broken")}}, "demo", record.Source{}, nil)
		if got, err := io.ReadAll(l); string(got) != "abc" || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%q, %v", got, err)
		}
	})
}

// TestSilentNode: a node that does not answer is asked again after a while, and others at once.
func TestSilentNode(t *testing.T) {
	t.Parallel()
	now := testclock.NewFakePassiveClock(time.Unix(0, 0))
	nodes := newSilentNodes(now)
	ask := func(node string, answer connection) error {
		return nodes.open(t.Context(), &connections{answer}, "demo", record.Source{Node: node}).err
	}
	if err := ask("lost", connection{opens: apierror.ErrNodeUnreachable}); !errors.Is(err, apierror.ErrNodeUnreachable) {
		t.Error(err)
	}
	if err := ask("lost", connection{text: "it would answer"}); !errors.Is(err, apierror.ErrNodeUnreachable) {
		t.Errorf("the node is asked again at once: %v", err)
	}
	if err := ask("other", connection{text: "here"}); err != nil {
		t.Error(err)
	}
	for range 2 { // the API server does not allow it, which says nothing about the node
		if err := ask("forbidden", connection{opens: errAny}); !errors.Is(err, errAny) {
			t.Errorf("the error of opening a log is now: %v", err)
		}
	}
	now.SetTime(now.Now().Add(unreadableEvery))
	if err := ask("lost", connection{text: "back"}); err != nil {
		t.Errorf("the node is back, and is not asked: %v", err)
	}
}

func TestBacklog(t *testing.T) {
	b := newBacklog()
	req := func(ns string, i int) ctrl.Request {
		return ctrl.Request{NamespacedName: types.NamespacedName{Namespace: ns, Name: fmt.Sprint(i)}}
	}
	lowest := 0
	for i := range 200 {
		lowest = b.add(req("busy", i))
	}
	if lowest != -8 {
		t.Errorf("the 200th run of a namespace has priority %d", lowest)
	}
	if p := b.add(req("other", 0)); p != 0 {
		t.Errorf("the first run of another namespace has priority %d", p)
	}
	b.add(req("busy", 7)) // again
	if n := b.len(); n != 201 {
		t.Errorf("%v runs wait, want 201", n)
	}
	for i := range 200 {
		b.remove(req("busy", i))
		b.remove(req("busy", i)) // twice
	}
	if n := b.len(); n != 1 || len(b.runs) != 1 {
		t.Errorf("%v runs of %d namespaces wait, want 1", n, len(b.runs))
	}
}

func TestGauge(t *testing.T) {
	for _, tc := range []struct {
		reason string
		chunks []string
		broken bool
	}{
		{"a whole log", []string{"abc\n", "def\n"}, false},
		{"nothing", nil, false},
		{"a mark at the end", []string{strings.Repeat("x\n", 5000), record.BrokenMark}, true},
		{"a mark in two parts", []string{"x\n" + record.BrokenMark[:10], record.BrokenMark[10:]}, true},
		{"a mark in the middle, which a test printed", []string{record.BrokenMark, "x\n"}, false},
	} {
		var g gauge
		for _, chunk := range tc.chunks {
			fmt.Fprint(&g, chunk)
		}
		if got := string(g.end) == record.BrokenMark; got != tc.broken || g.size != int64(len(strings.Join(tc.chunks, ""))) {
			t.Errorf("%s: broken %t, %d bytes", tc.reason, got, g.size)
		}
	}
}
