package archive_test

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/postflight-dev/postflight/internal/core/record"
	"github.com/postflight-dev/postflight/internal/store/archive"
	"github.com/postflight-dev/postflight/test/poll"
	"github.com/postflight-dev/postflight/test/stores"
	"github.com/postflight-dev/postflight/test/tier"
)

const octets = "application/octet-stream"

// collected: what a pod uploads comes back byte for byte, whatever its name.
func collected(t *testing.T, w world) {
	r := runAt("acme", "collected", noon)
	names := []string{
		"index.html", "a/b/c.png", "with space.txt", "a+b.txt", "100%.txt", "%2e%2e/x", "größe/アプリ.png", "👩\u200d🔬.webm",
		"a&b=c?d#e.txt",
		`quote"'.txt`, "~(1)[2]{3};,.txt", "@$!*:.txt", ".hidden", ".../a..b", "postflight-runs/x", "run.json", "empty",
	}
	var want []archive.Artifact
	for _, name := range names {
		content := "content of " + name
		if name == "empty" {
			content = ""
		}
		url, err := w.SignCollect(t.Context(), r, "pod-1", name, int64(len(content)))
		must(t, err)
		if resp, body := send(t, http.MethodPut, url, octets, content); resp.StatusCode != http.StatusOK {
			t.Fatalf("PUT of %q: %s %s", name, resp.Status, body)
		}
		want = append(want, archive.Artifact{Pod: "pod-1", Path: name, Bytes: int64(len(content))})
		file, err := w.OpenArtifact(t.Context(), r, "pod-1", name)
		if got := all(t, file, err); got != content || file.Modified.IsZero() || len(file.ETag) < 3 {
			t.Errorf("%q: %q came back, of %s with ETag %s", name, got, file.Modified, file.ETag)
		}
		if _, err := file.Seek(-4, io.SeekEnd); len(content) >= 4 && (err != nil || all(t, file, nil) != content[len(content)-4:]) {
			t.Errorf("%q: its end is another: %v", name, err)
		}
		url, err = w.SignArtifact(t.Context(), r, "pod-1", name)
		must(t, err)
		resp, got := send(t, http.MethodGet, url, "", "")
		if got != content || resp.StatusCode != http.StatusOK || resp.Header.Get("Content-Type") != octets {
			t.Errorf("GET of %q: %s %q of type %q", name, resp.Status, got, resp.Header.Get("Content-Type"))
		}
		disposition, parameters, err := mime.ParseMediaType(resp.Header.Get("Content-Disposition"))
		if disposition != "attachment" || parameters["filename"] != path.Base(name) {
			t.Errorf("GET of %q is shown as %q (%v)", name, resp.Header.Get("Content-Disposition"), err)
		}
	}
	slices.SortFunc(want, func(a, b archive.Artifact) int { return strings.Compare(a.Path, b.Path) })
	got, next, err := w.Artifacts(t.Context(), r, "", 100)
	if diff := cmp.Diff(want, got); err != nil || next != "" || diff != "" {
		t.Errorf("the list: %v, next %q %s", err, next, diff)
	}
}

// uploadsRefused: a URL is valid for one key, length, method and content type.
func uploadsRefused(t *testing.T, w world) {
	r := runAt("acme", "refused", noon)
	signed, err := w.SignCollect(t.Context(), r, "pod", "file.txt", 4)
	must(t, err)
	results, err := w.SignResults(t.Context(), r, "pod", 4)
	must(t, err)
	for name, tc := range map[string]struct{ method, url, contentType, body string }{
		"Longer":           {http.MethodPut, signed, octets, "12345"},
		"Shorter":          {http.MethodPut, signed, octets, "123"},
		"Empty":            {http.MethodPut, signed, octets, ""},
		"ResultsLonger":    {http.MethodPut, results, octets, "12345"},
		"OtherFile":        {http.MethodPut, strings.Replace(signed, "file.txt", "other.txt", 1), octets, "1234"},
		"OtherPod":         {http.MethodPut, strings.Replace(signed, "/pod/", "/pod-2/", 1), octets, "1234"},
		"OtherTeam":        {http.MethodPut, strings.Replace(signed, "/acme/", "/other/", 1), octets, "1234"},
		"Record":           {http.MethodPut, strings.Replace(signed, "artifacts/pod/file.txt", "run.json", 1), octets, "1234"},
		"OtherContentType": {http.MethodPut, signed, "text/html", "1234"},
		"NoContentType":    {http.MethodPut, signed, "", "1234"},
		"Read":             {http.MethodGet, signed, octets, ""},
		"Delete":           {http.MethodDelete, signed, octets, ""},
		"ForLonger":        {http.MethodPut, strings.Replace(signed, "X-Amz-Expires=60", "X-Amz-Expires=6000", 1), octets, "1234"},
	} {
		if resp, body := send(t, tc.method, tc.url, tc.contentType, tc.body); resp.StatusCode != http.StatusForbidden &&
			resp.StatusCode != http.StatusBadRequest {
			t.Errorf("%s: %s %s, want 403 or 400", name, resp.Status, body)
		}
	}
	if keys := w.keys(t, r.Directory()); len(keys) != 0 {
		t.Errorf("after the refusals there are %q", keys)
	}
	if resp, body := send(t, http.MethodPut, signed, octets, "1234"); resp.StatusCode != http.StatusOK {
		t.Errorf("as signed: %s %s", resp.Status, body)
	}
}

func uploadExpired(t *testing.T, w world) {
	r := runAt("acme", "expired", noon)
	brief := w.Options()
	brief.UploadLifetime = time.Second
	a := &archive.Archive{Bucket: stores.Open(t, brief)}
	signed, err := a.SignCollect(t.Context(), r, "pod", "file.txt", 4)
	must(t, err)
	var resp *http.Response
	var body string
	poll.True(t, "the URL expires", func() bool {
		resp, body = send(t, http.MethodPut, signed, octets, "1234")
		return resp.StatusCode != http.StatusOK
	})
	if resp.StatusCode != w.Expired {
		t.Errorf("%s %s, want %d", resp.Status, body, w.Expired)
	}
}

// badNames lead to no other place, and to none at all.
func badNames(t *testing.T, w world) {
	r := runAt("acme", "bad-names", noon)
	for _, name := range []string{"", "/", "../x", "a/../../x", "a//b", "a/", "./a", `a\b`, "a\x00", "a\nb", "\xff",
		strings.Repeat("a", 513)} {
		for _, tc := range []struct{ pod, file string }{{"pod", name}, {name, "file"}} {
			if url, err := w.SignCollect(t.Context(), r, tc.pod, tc.file, 1); err == nil {
				t.Errorf("SignCollect of %q: %s", tc, url)
			}
			if url, err := w.SignArtifact(t.Context(), r, tc.pod, tc.file); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("SignArtifact of %q: %s, %v", tc, url, err)
			}
			if _, err := w.OpenArtifact(t.Context(), r, tc.pod, tc.file); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("OpenArtifact of %q: %v", tc, err)
			}
		}
		if url, err := w.SignResults(t.Context(), r, name, 1); err == nil {
			t.Errorf("SignResults of %q: %s", name, url)
		}
	}
}

// manyArtifacts are more than a store lists at once. In the gate, they are more than a page.
func manyArtifacts(t *testing.T, w world) {
	count, limits := 1100, []int{137, 550, 1000, 1100}
	if tier.Gate() {
		count, limits = 22, []int{3, 11, 20, 22}
	}
	r := runAt("acme", "many-artifacts", noon)
	objects := map[string][]byte{
		runAt("acme", "many-artifacts-2", noon).ArtifactKey("pod", "x"): nil, // not of this run
	}
	var want []string
	for i := range count {
		name := fmt.Sprintf("shots/%d %%+ü.png", i)
		objects[r.ArtifactKey("pod", name)] = []byte("123")
		want = append(want, name)
	}
	w.put(t, objects)
	slices.Sort(want)
	var stored []string
	for f, err := range w.Stored(t.Context(), r) {
		if err != nil || f.Pod != "pod" || f.Bytes != 3 {
			t.Fatalf("Stored: %+v, %v", f, err)
		}
		stored = append(stored, f.Path)
	}
	if !slices.Equal(stored, want) {
		t.Errorf("Stored: %d files, want %d", len(stored), count)
	}
	for _, limit := range limits {
		var got []string
		for next, pages := "", 0; next != "" || pages == 0; pages++ {
			page, after, err := w.Artifacts(t.Context(), r, next, limit)
			must(t, err)
			if len(page) == 0 || len(page) > limit || after != "" && after == next {
				t.Fatalf("a page of %d after %q, the next after %q", len(page), next, after)
			}
			for _, a := range page {
				got = append(got, a.Path)
			}
			next = after
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("in pages of %d: %s", limit, diff)
		}
	}
}

func results(t *testing.T, w world) {
	r := runAt("acme", "results", noon)
	const document = `{"tests": 3}`
	for i := range record.MaxComparedPods {
		url, err := w.SignResults(t.Context(), r, fmt.Sprintf("pod-%d", i), int64(len(document)))
		must(t, err)
		if resp, body := send(t, http.MethodPut, url, octets, document); resp.StatusCode != http.StatusOK {
			t.Fatalf("PUT: %s %s", resp.Status, body)
		}
	}
	urls, err := w.SignPreviousResults(t.Context(), r)
	if err != nil || len(urls) != record.MaxComparedPods {
		t.Errorf("%d URLs, %v; want %d", len(urls), err, record.MaxComparedPods)
	}
	for _, url := range urls {
		if resp, got := send(t, http.MethodGet, url, "", ""); got != document {
			t.Errorf("GET: %s %q", resp.Status, got)
		}
	}
	for name, content := range map[string]string{"not a pod!.json": document, "pod-0.txt": document,
		"pod-large.json": strings.Repeat(" ", record.MaxResultsBytes+1)} {
		must(t, w.Archive.Bucket.Put(t.Context(), r.ResultsPrefix()+name, "application/json", strings.NewReader(content), int64(len(content))))
	}
	pods := 0
	for d, err := range w.Results(t.Context(), r) {
		if pods++; err != nil || !strings.HasPrefix(d.Pod, "pod-") || string(d.Content) != document {
			t.Errorf("%q of %q, %v", d.Content, d.Pod, err)
		}
	}
	if pods != record.MaxComparedPods {
		t.Errorf("%d documents, want %d", pods, record.MaxComparedPods)
	}
	must(t, w.Archive.Bucket.Delete(t.Context(), r.ResultsPrefix()+"not a pod!.json", r.ResultsPrefix()+"pod-0.txt",
		r.ResultsPrefix()+"pod-large.json"))
	must(t, w.Archive.Bucket.Put(t.Context(), r.ResultsKey("pod-more"), "application/json", strings.NewReader(document), int64(len(document))))
	if urls, err := w.SignPreviousResults(t.Context(), r); err != nil || len(urls) != 0 {
		t.Errorf("of more pods than are compared: %d URLs, %v", len(urls), err)
	}
	if urls, err := w.SignPreviousResults(t.Context(), runAt("acme", "no-results", noon)); err != nil || len(urls) != 0 {
		t.Errorf("without results: %q, %v", urls, err)
	}
}

// artifactsAfter: a listing can begin after a key that no object has, such as the folder of a pod.
func artifactsAfter(t *testing.T, w world) {
	r := runAt("acme", "artifacts-after", noon)
	objects := map[string][]byte{}
	for _, file := range []string{"pod-0/a", "pod-1/a", "pod-1/d-1/x", "pod-1/d.txt", "pod-1/d/x", "pod-2/a"} {
		objects[r.ArtifactsPrefix()+file] = []byte("x")
	}
	w.put(t, objects)
	for after, want := range map[string]string{
		"pod-1/": "pod-1/a", "pod-1/b": "pod-1/d-1/x", "pod-1/d-1/x": "pod-1/d.txt", "pod-1/d.txt": "pod-1/d/x", "pod-1/d/": "pod-1/d/x",
		"pod-1/z": "pod-2/a", "pod-2/z": "",
	} {
		page, _, err := w.Artifacts(t.Context(), r, after, 1)
		must(t, err)
		got := ""
		for _, f := range page {
			got = f.Pod + "/" + f.Path
		}
		if got != want {
			t.Errorf("after %q comes %q, not %q", after, got, want)
		}
	}
}
