package archive_test

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/postflight-dev/postflight/internal/core/record"
	"github.com/postflight-dev/postflight/test/tier"
)

func savedLog(t *testing.T, w world) {
	r := runAt("acme", "logs", noon)
	texts := map[record.Log]string{
		{Pod: "pod-1", Container: "test"}:                 strings.Repeat("a line\n", 10000),
		{Pod: "pod-1", Container: "test", Previous: true}: "before its restart\n",
		{Pod: "pod-2.sub", Container: "postflight-fetch"}: "",
	}
	for log, text := range texts {
		want := log
		want.Bytes = int64(len(text))
		got, err := w.SaveLog(t.Context(), r, log.Pod, log.Container, log.Previous, strings.NewReader(text))
		if err != nil || got != want {
			t.Errorf("%v, %v; want %v", got, err, want)
		}
		content, err := w.OpenLog(t.Context(), r, log.Pod, log.Container, log.Previous)
		if got := all(t, content, err); got != text {
			t.Errorf("%v: %d bytes came back, want %d", log, len(got), len(text))
		}
	}
	logs, err := w.Logs(t.Context(), r)
	must(t, err)
	for i := range logs {
		if logs[i].Bytes < 20 {
			t.Errorf("%v has no compressed size", logs[i])
		}
		logs[i].Bytes = 0
	}
	want := []record.Log{{Pod: "pod-1", Container: "test"}, {Pod: "pod-1", Container: "test", Previous: true},
		{Pod: "pod-2.sub", Container: "postflight-fetch"}}
	if diff := cmp.Diff(want, logs); diff != "" {
		t.Errorf("the list of logs: %s", diff)
	}
}

// longLog: nothing in it can be compressed, so this is the largest object that there can be.
func longLog(t *testing.T, w world) {
	r := runAt("acme", "long-log", noon)
	log, err := w.SaveLog(t.Context(), r, "pod", "test", false, io.LimitReader(&noise{tier.Random(t)}, 40<<20))
	must(t, err)
	content, err := w.OpenLog(t.Context(), r, "pod", "test", false)
	text := all(t, content, err)
	if log.Bytes != 40<<20 || log.Omitted < 24<<20 || log.Omitted > 24<<20+200000 || !strings.Contains(text, "bytes were left out here]\n") {
		t.Errorf("%v", log)
	}
	if extra := int64(len(text)) - (log.Bytes - log.Omitted); extra < 40 || extra > 60 {
		t.Errorf("%d bytes came back, %d more than are kept", len(text), extra)
	}
}

// noise is text without end that cannot be compressed.
type noise struct{ source *rand.Rand }

func (n *noise) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = byte(n.source.Uint64())
	}
	return len(b), nil
}

// brokenLog: the node went away while the log was read.
func brokenLog(t *testing.T, w world) {
	r := runAt("acme", "broken-log", noon)
	broken := iotest.ErrReader(errors.New("read tcp 10.0.0.7:10250: connection reset"))
	got, err := w.SaveLog(t.Context(), r, "pod", "test", false, io.MultiReader(strings.NewReader("first\nsec"), broken))
	if err != nil || got.Bytes != 9 || !strings.Contains(got.Problem, "could not be read to its end") ||
		strings.Contains(got.Problem, "10.0.0.7") {
		t.Errorf("%v, %v", got, err)
	}
	content, err := w.OpenLog(t.Context(), r, "pod", "test", false)
	if text := all(t, content, err); text != "first\nsec\n[postflight: the rest of this log could not be read]\n" {
		t.Errorf("%q", text)
	}
	got, err = w.SaveLog(t.Context(), r, "pod", "other", false, broken)
	if err != nil || got.Bytes != 0 || got.Problem == "" {
		t.Errorf("nothing could be read: %v, %v", got, err)
	}
	if _, err := w.OpenLog(t.Context(), r, "pod", "other", false); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("of nothing, a log was saved: %v", err)
	}
}

func noLog(t *testing.T, w world) {
	r := runAt("acme", "no-log", noon)
	for _, name := range []string{"test", "../../x", "", "a/b", "."} {
		if _, err := w.OpenLog(t.Context(), r, "pod", name, false); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("of container %q: %v", name, err)
		}
		if _, err := w.OpenLog(t.Context(), r, name, "test", false); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("of pod %q: %v", name, err)
		}
	}
	if logs, err := w.Logs(t.Context(), r); err != nil || len(logs) != 0 {
		t.Errorf("%v, %v", logs, err)
	}
}

// givenUp: a caller that gives up says nothing about the store, and saves no half log.
func givenUp(t *testing.T, w world) {
	r := runAt("acme", "given-up", noon)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := w.SaveLog(ctx, r, "pod", "test", false, strings.NewReader("text")); !errors.Is(err, context.Canceled) {
		t.Errorf("SaveLog: %v", err)
	}
	if _, err := w.OpenLog(ctx, r, "pod", "test", false); !errors.Is(err, context.Canceled) {
		t.Errorf("OpenLog: %v", err)
	}
	if _, err := w.Logs(ctx, r); !errors.Is(err, context.Canceled) {
		t.Errorf("Logs: %v", err)
	}
	if logs, err := w.Logs(t.Context(), r); err != nil || len(logs) != 0 {
		t.Errorf("afterwards: %v, %v", logs, err)
	}
}
