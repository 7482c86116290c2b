package runs

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/internal/core/record"
)

// countingArchive has one file, and counts how often it is asked for.
type countingArchive struct {
	Archive
	asked int
	err   error
}

func (a *countingArchive) Artifacts(context.Context, record.Run, string, int) ([]record.Artifact, string, error) {
	a.asked++
	return []record.Artifact{{Pod: "p", Path: "a.png", Bytes: 1}}, "", a.err
}

// TestFilesAreListedOnce: a live page asks again and again, and a failure is not kept.
func TestFilesAreListedOnce(t *testing.T) {
	a := &countingArchive{err: errors.New("it refuses connections")}
	r := &Reader{Config: Config{Archive: a, Limits: DefaultLimits()}, files: newFileLists()}
	one, other := &Run{ID: record.Run{Team: "acme", ID: "one"}}, &Run{ID: record.Run{Team: "acme", ID: "other"}}
	if _, _, err := r.RecentArtifacts(t.Context(), one, "", 10); err == nil || err.Error() != "it refuses connections" {
		t.Errorf("the error is %v", err)
	}
	a.err = nil
	for range 3 {
		files, _, err := r.RecentArtifacts(t.Context(), one, "", 10)
		if diff := cmp.Diff([]record.Artifact{{Pod: "p", Path: "a.png", Bytes: 1}}, files); err != nil || diff != "" {
			t.Errorf("%v %s", err, diff)
		}
	}
	_, _, err := r.RecentArtifacts(t.Context(), other, "", 10)
	if _, _, pageErr := r.RecentArtifacts(t.Context(), one, "p/a.png", 10); err != nil || pageErr != nil || a.asked != 4 {
		t.Errorf("the archive was asked %d times, want 4: %v, %v", a.asked, err, pageErr)
	}
}

// TestLiveLogs: pages show the logs of all containers that have run, the HTTP API those of the tests unless one is named.
func TestLiveLogs(t *testing.T) {
	ended := corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{}}
	pod := func(name string, minute int) corev1.Pod {
		return corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: name, CreationTimestamp: metav1.NewTime(time.Unix(int64(minute*60), 0))},
			Spec:       corev1.PodSpec{InitContainers: []corev1.Container{{Name: "fetch"}}, Containers: []corev1.Container{{Name: "tests"}, {Name: "waits"}}},
			Status: corev1.PodStatus{
				InitContainerStatuses: []corev1.ContainerStatus{{Name: "fetch", State: ended}},
				ContainerStatuses:     []corev1.ContainerStatus{{Name: "tests", State: ended, LastTerminationState: ended, RestartCount: 1}, {Name: "waits"}},
			},
		}
	}
	cases := map[string]struct {
		reason string
		query  LogQuery
		want   []string
	}{
		"The tests":   {"Nothing is named.", LogQuery{}, []string{"early/tests", "late/tests"}},
		"Before":      {"They were restarted.", LogQuery{Previous: true}, []string{"early/tests before", "late/tests before"}},
		"A step":      {"It is named.", LogQuery{Container: "fetch", Pod: "late"}, []string{"late/fetch"}},
		"Not started": {"It has no log.", LogQuery{Container: "waits"}, nil},
		"All":         {"A page lets people choose.", LogQuery{All: true}, []string{"early/fetch", "early/tests", "early/tests before", "late/fetch", "late/tests", "late/tests before"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, l := range logsOf([]corev1.Pod{pod("late", 2), pod("early", 1)}, tc.query) {
				text := l.String()
				if l.Previous {
					text += " before"
				}
				got = append(got, text)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s %s", tc.reason, diff)
			}
		})
	}
}

// TestCursors: what a client sends back leads to the same run, or is refused.
func TestCursors(t *testing.T) {
	run := record.Run{ID: "smoke-1", Created: time.Unix(1_795_000_000, 0).UTC()}
	if got, ok := ParseCursor(Cursor(run)); !ok || *got != run {
		t.Errorf("%+v, %v", got, ok)
	}
	for _, bad := range []string{"", "x", "!!", Cursor(record.Run{ID: "../x", Created: run.Created}), Cursor(record.Run{ID: "a", Created: time.Unix(-1, 0)})} {
		if got, ok := ParseCursor(bad); ok {
			t.Errorf("%q means %+v", bad, got)
		}
	}
}
