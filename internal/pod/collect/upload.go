package collect

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/internal/core/text/plaintext"
)

// upload keeps the files, and then the results document, which lists them.
func (w *collection) upload(ctx context.Context, files []file) {
	run := w.uploadFiles(ctx, files)
	if run == "" {
		return
	}
	watched := w.watch(ctx)
	defer watched.End()
	if failed := w.putDocument(watched, run); failed != "" {
		w.problem(fmt.Sprintf("The list of all failed tests was not kept: %s.", failed))
	}
}

// uploadFiles returns the pod's run, or "" if the manager or the store is unavailable. It compares first, lest uploads use up the time.
func (w *collection) uploadFiles(ctx context.Context, files []file) (run string) {
	ctx, cancel := context.WithDeadline(ctx, deadline(ctx).Add(-reserve(w.Budget)))
	defer cancel()
	watched := w.watch(ctx)
	defer watched.End()
	ctx = watched
	for len(files) > 0 {
		n := batch(files)
		answer, failed := w.ask(ctx, httpapi.CollectRequest{Files: requested(files[:n])})
		if failed != nil {
			w.lose(files, "Postflight "+failed.text)
			return run
		}
		watched.Moved()
		if run == "" {
			w.compare(ctx, answer.Previous)
			watched.Moved()
		}
		run = answer.Run
		w.put(ctx, files[:n], answer.Files, watched.Moved)
		files = files[n:]
	}
	if watched.Stalled() && len(w.uploaded) == 0 {
		return ""
	}
	return run
}

func deadline(ctx context.Context) time.Time {
	d, _ := ctx.Deadline()
	return d
}

// batch is how many of the files fit into a request, at least one.
func batch(files []file) int {
	size := 0
	for i, f := range files {
		size += len(`{"path":"","bytes":1234567890},`) + 2*len(f.path) // JSON escapes quotes with another character
		if size > maxRequestBytes && i > 0 {
			return i
		}
	}
	return len(files)
}

func requested(files []file) []httpapi.CollectFile {
	all := make([]httpapi.CollectFile, 0, len(files))
	for _, f := range files {
		all = append(all, httpapi.CollectFile{Path: f.path, Bytes: f.bytes})
	}
	return all
}

func (w *collection) lose(files []file, reason string) {
	for _, f := range files {
		w.lost.add(f.path, reason)
	}
}

// put uploads files, a few at a time, to the URLs in the same order.
func (w *collection) put(ctx context.Context, files []file, urls []httpapi.CollectURL, moved func()) {
	var group errgroup.Group
	group.SetLimit(uploadsAtOnce)
	for i, f := range files {
		if problem := urls[i].Problem; problem != "" {
			w.lost.add(f.path, strings.TrimSuffix(plaintext.Line(problem, maxPath), "."))
			continue
		}
		group.Go(func() error {
			w.putFile(ctx, f, urls[i].URL, moved)
			return nil
		})
	}
	_ = group.Wait()
}

func (w *collection) putFile(ctx context.Context, f file, url string, moved func()) {
	u := &fileUpload{file: f, url: url, moved: moved}
	failed := retry(ctx, func(ctx context.Context) *failure { return u.attempt(ctx, w.Client, w.root) })
	if failed != nil {
		w.lost.add(f.path, failed.text)
		return
	}
	moved()
	w.keep(f)
	if u.changed {
		w.lost.add(f.path, errChanged.Error()+", and only its beginning was kept")
	}
}

type fileUpload struct {
	file
	url     string
	moved   func()
	sent    int64 // bytes of the best attempt: only more is progress
	changed bool  // it grew meanwhile
}

func (u *fileUpload) attempt(ctx context.Context, client *http.Client, root *os.Root) *failure {
	content, size, err := u.open(root)
	switch {
	case err != nil:
		return &failure{text: cannotRead(err)}
	case size != u.bytes:
		content.Close()
		return &failure{text: errChanged.Error()}
	}
	defer content.Close()
	body := &progress{content: io.LimitReader(content, u.bytes), upload: u}
	if failed := putBody(ctx, client, u.url, body, u.bytes); failed != nil {
		return failed
	}
	info, err := content.Stat()
	u.changed = err != nil || info.Size() != u.bytes
	return nil
}

// progress reports when more of a file is sent than in any attempt before.
type progress struct {
	content io.Reader
	offset  int64
	upload  *fileUpload
}

func (p *progress) Read(b []byte) (int, error) {
	n, err := p.content.Read(b)
	if p.offset += int64(n); p.offset > p.upload.sent {
		p.upload.sent = p.offset
		p.upload.moved()
	}
	return n, err
}

// putBody sends exactly what was signed: this length and this type.
func putBody(ctx context.Context, client *http.Client, url string, body io.Reader, size int64) *failure {
	if size == 0 {
		body = http.NoBody
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPut, url, body)
	if err != nil || request.URL.Host == "" {
		return &failure{text: "Postflight gave no URL to upload to"}
	}
	request.ContentLength = size
	request.Header.Set("Content-Type", "application/octet-stream")
	response, failed := do(client, request)
	if response != nil {
		drain(response)
	}
	if failed != nil {
		failed.text = "the store " + failed.text
	}
	return failed
}

// putDocument returns why the results document could not be kept, or "". The log of all tests follows it, because it is worth less.
func (w *collection) putDocument(ctx context.Context, run string) string {
	document := w.document(run)
	content, log := encode(document), w.tests.Log.Content(w.Index, document.Started, document.Ended, w.tests.Counts)
	answer, failed := w.ask(ctx, httpapi.CollectRequest{ResultsBytes: int64(len(content)), TestsBytes: int64(len(log))})
	if failed != nil {
		return "Postflight " + failed.text
	}
	if failed := w.putContent(ctx, answer.Results, content); failed != "" {
		return failed
	}
	switch {
	case len(log) == 0:
	case answer.Tests == nil: // a replica of an earlier version, during an upgrade
		w.Log.Warn("the tests that passed are not kept, because a replica of an earlier version answered")
	default:
		if failed := w.putContent(ctx, answer.Tests, log); failed != "" {
			w.problem(fmt.Sprintf("The tests that passed were not kept: %s.", failed))
		}
	}
	return ""
}

func (w *collection) putContent(ctx context.Context, to *httpapi.CollectURL, content []byte) string {
	if to == nil || to.URL == "" {
		return "Postflight gave no URL to upload to"
	}
	failed := retry(ctx, func(ctx context.Context) *failure {
		return putBody(ctx, w.Client, to.URL, bytes.NewReader(content), int64(len(content)))
	})
	if failed != nil {
		return failed.text
	}
	return ""
}
