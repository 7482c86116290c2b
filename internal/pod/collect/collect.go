package collect

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/tests/quarantine"
	"github.com/postflight-dev/postflight/internal/core/tests/results"
	"github.com/postflight-dev/postflight/internal/core/text/mask"
	"github.com/postflight-dev/postflight/internal/core/text/plaintext"
)

// Collector uploads the results of a pod.
type Collector struct {
	Client    *http.Client
	Manager   string          // URL of the manager's HTTP API
	TokenFile string          // by which the manager recognizes the pod
	Directory string          // into which the tests wrote
	Index     *int            // completion index of the pod; nil if its Job has none
	Secrets   mask.Values     // of secret variables, which are masked in what is read of reports
	Rerun     results.NameSet // failed tests that the run is to repeat; "" if it runs all
	Attempts  v1alpha1.AttemptsPolicy
	Started   time.Time
	Budget    time.Duration // for everything
	Patience  time.Duration // for the manager and the store to do anything
	Log       *slog.Logger

	Quarantines quarantine.Matcher // of the run

	// Report is called with what is known, several times: the process may be killed at any moment.
	Report func(results.Summary)
}

type collection struct {
	*Collector
	root  *os.Root
	tests results.Tests
	lost  losses

	mu       sync.Mutex
	chosen   int
	uploaded []results.File
	bytes    int64
	problems []string
	reported time.Time
}

// Collect reads reports and uploads files. The tests must have stopped.
func (c *Collector) Collect(ctx context.Context) {
	begin := time.Now()
	ctx, cancel := context.WithTimeout(ctx, c.Budget)
	defer cancel()
	w := &collection{Collector: c, tests: results.Tests{
		Secrets: c.Secrets, Quarantines: c.Quarantines, Rerun: c.Rerun, LastAttempt: c.Attempts == v1alpha1.AttemptsLast,
	}}
	w.collect(ctx)
	s := w.summary()
	c.Report(s)
	for _, problem := range w.sentences() {
		c.Log.Warn(problem)
	}
	c.Log.Info("done", "files", s.Files, "size", plaintext.Bytes(s.Bytes), "took", time.Since(begin).Round(time.Millisecond).String())
}

func (w *collection) collect(ctx context.Context) {
	root, err := os.OpenRoot(w.Directory)
	if err != nil {
		w.problem("The results directory could not be opened: " + cannotRead(err) + ".")
		return
	}
	defer func() { _ = root.Close() }()
	w.root = root
	files, unread := find(root, &w.lost)
	w.tests.Counts.Unread += unread
	w.read(ctx, files)
	files = choose(files, &w.lost)
	w.chosen = len(files)
	w.Report(w.interim())
	if len(files) > 0 {
		w.upload(ctx, files)
	}
}

// read reads the reports among the files. It takes at most half of the time, so that something is left for uploads.
func (w *collection) read(ctx context.Context, files []file) {
	ctx, cancel := context.WithTimeout(ctx, w.Budget/2)
	defer cancel()
	for _, attempts := range attempts(files, w.tests.LastAttempt) {
		for _, f := range attempts {
			content, _, err := f.open(w.root)
			if err != nil {
				w.tests.Counts.Unread++ // the upload tells about it
				continue
			}
			f.report = w.tests.AddAttempt(f.path, whileTime{ctx, content})
			content.Close()
		}
		w.tests.EndAttempts()
	}
	if c := w.tests.Counts; c.Reports > 0 {
		w.Log.Info("read the reports", "reports", c.Reports, "tests", c.Tests, "passed", c.Passed, "failed", c.Failed, "skipped", c.Skipped)
	}
}

// whileTime ends with its context.
type whileTime struct {
	ctx     context.Context
	content io.Reader
}

func (r whileTime) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.content.Read(p)
}

func (w *collection) problem(sentence string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.problems = append(w.problems, sentence)
}

func (w *collection) sentences() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := slices.Concat(w.problems, w.tests.Problems, w.lost.sentences())
	return all[:min(len(all), maxProblems)]
}

func (w *collection) summary() results.Summary {
	problem := results.Join(w.sentences())
	w.mu.Lock()
	defer w.mu.Unlock()
	s := w.tests.Summary()
	s.Files, s.Bytes, s.Unkept, s.Problem = int32(len(w.uploaded)), w.bytes, int32(w.chosen-len(w.uploaded)), problem
	return s
}

// interim is the summary in case that this process is killed.
func (w *collection) interim() results.Summary {
	s := w.summary()
	if int(s.Files) < w.chosen {
		s.Problem = results.Join([]string{"The collector was stopped before it had uploaded all files.", s.Problem})
	}
	return s
}

func (w *collection) keep(f file) {
	w.mu.Lock()
	w.uploaded = append(w.uploaded, results.File{Path: f.path, Bytes: f.bytes})
	w.bytes += f.bytes
	due := time.Since(w.reported) >= reportEvery
	if due {
		w.reported = time.Now()
	}
	w.mu.Unlock()
	if due {
		w.Report(w.interim())
	}
}

// document is the results document that the store keeps.
func (w *collection) document(run string) results.Document {
	problems := w.sentences()
	w.mu.Lock()
	defer w.mu.Unlock()
	slices.SortFunc(w.uploaded, func(a, b results.File) int { return strings.Compare(a.Path, b.Path) })
	tests := w.tests.Summary()
	return results.Document{
		Run: run, Index: w.Index, Started: w.Started.UTC(), Ended: time.Now().UTC(),
		Counts: w.tests.Counts, Failures: notNil(results.Detailed(w.tests.Failures, w.uploaded)),
		FlakyTests: w.tests.Flaky, PassedTests: tests.PassedTests, NamesDigest: tests.NamesDigest, RerunPassed: tests.RerunPassed,
		Files: notNil(w.uploaded), Problems: notNil(problems),
	}
}

// notNil is never null in JSON.
func notNil[T any](all []T) []T {
	if all == nil {
		return []T{}
	}
	return all
}

// errChanged means that a file differs from the one for which the manager signed an upload.
var errChanged = errors.New("changed during the upload")
