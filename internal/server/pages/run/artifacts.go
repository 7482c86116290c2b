package run

import (
	"errors"
	"io/fs"
	"mime"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/postflight-dev/postflight/internal/core/record"
	"github.com/postflight-dev/postflight/internal/core/run/verdict"
	"github.com/postflight-dev/postflight/internal/core/view"
	"github.com/postflight-dev/postflight/internal/server/pages/site"
	"github.com/postflight-dev/postflight/internal/server/seal"
	"github.com/postflight-dev/postflight/internal/server/signin"
	"github.com/postflight-dev/postflight/internal/usecase/runs"
)

const (
	grantPurpose = "files"

	filesAtOnce = 100
	maxPreviews = 12 // bounds the pictures on the first page of a run
)

// grant lets a browser read the files of a run without a cookie, which an HTML report's own origin does not send.
type grant struct {
	Namespace string          `json:"n"`
	Run       string          `json:"r"`
	Identity  signin.Identity `json:"i"`
}

// ArtifactsPage lists the files of a run.
func (u *Pages) ArtifactsPage(r *site.Request) (*site.Page, error) {
	d, run, err := u.run(r, "artifacts")
	if err != nil {
		return nil, err
	}
	d.Files, d.FilesProblem, err = u.files(r, run, r.URL.Query().Get("after"), filesAtOnce)
	if err != nil {
		return nil, err
	}
	return d.page(), nil
}

// files returns nil if there are none; problem says why they cannot be read.
func (u *Pages) files(r *site.Request, run *runs.Run, after string, limit int) (d *filesData, problem string, err error) {
	if !u.Runs.HasArchive() || run.Suite.Status.Artifacts == nil {
		return nil, "", nil
	}
	files, next, err := u.Runs.RecentArtifacts(r.Context(), run, after, limit)
	if err != nil {
		u.Log.Error(err, "the files of a run cannot be listed", "run", run.ID.ID)
		return nil, "The store cannot be read at the moment. Reload the page in a minute.", nil
	}
	sealed, err := u.Sealer.Seal(r.Context(), grantPurpose, grant{r.Namespace(), run.ID.ID, r.Identity})
	if err != nil {
		return nil, "", err
	}
	d = &filesData{Next: next}
	for _, a := range files {
		d.Files = append(d.Files, u.fileOf(a, sealed))
	}
	return d, "", nil
}

// previews are the pictures and videos of a run that did not pass.
func (u *Pages) previews(r *site.Request, run *runs.Run) (*filesData, error) {
	if !run.Suite.Finished() || verdict.RunPassed(run.Suite) {
		return nil, nil
	}
	d, _, err := u.files(r, run, "", record.MaxArtifacts)
	if err != nil || d == nil {
		return nil, err
	}
	d.Files = slices.DeleteFunc(d.Files, func(f file) bool { return f.Kind != "image" && f.Kind != "video" })
	d.Files = d.Files[:min(len(d.Files), maxPreviews)]
	pods := map[string]int{}
	for _, f := range d.Files {
		pods[f.Path]++
	}
	for i, f := range d.Files {
		if pods[f.Path] > 1 {
			d.Files[i].From = f.Pod
		}
	}
	return d, nil
}

func (u *Pages) fileOf(a record.Artifact, sealed string) file {
	segments := []string{"/files", sealed, "pod-" + a.Pod}
	segments = append(segments, strings.Split(a.Path, "/")...)
	for i, s := range segments[1:] {
		segments[i+1] = "/" + url.PathEscape(s)
	}
	return file{Artifact: a, Kind: view.FileKindOf(a.Path).Name, Size: view.Bytes(a.Bytes), Link: u.Path(segments...)}
}

// ServeFile sends an artifact. Its content is hostile: a page runs in its own origin, without cookies, and reaches only files of its run.
func (u *Pages) ServeFile(w http.ResponseWriter, r *site.Request) error {
	run, err := u.granted(r)
	if err != nil {
		return err
	}
	pod, name := strings.TrimPrefix(r.PathValue("pod"), "pod-"), r.PathValue("path")
	f, err := u.Runs.OpenArtifact(r.Context(), run, pod, name)
	if errors.Is(err, fs.ErrNotExist) {
		return site.NotFound()
	}
	if err != nil {
		return unavailable(err)
	}
	defer f.Close()
	if u.isReport(r, name) {
		u.Send(w, r, http.StatusOK, u.reportPage(r, run, name))
		return nil
	}
	u.setFileHeaders(w.Header(), r, name)
	w.Header().Set("ETag", f.ETag)
	if strings.Contains(r.Header.Get("Range"), ",") {
		r.Header.Del("Range") // each of many ranges would be a request to the store
	}
	http.ServeContent(u.patient(w), r.Request, "", f.Modified, f)
	return nil
}

// isReport reports whether a browser opens a page among the artifacts, which is framed so that it cannot navigate the browser away.
func (u *Pages) isReport(r *site.Request, name string) bool {
	contentType := view.FileKindOf(name).ContentType
	shown := r.Header.Get("Sec-Fetch-Dest") == "document" && !r.URL.Query().Has("download")
	return shown && (strings.HasPrefix(contentType, "text/html") || contentType == "image/svg+xml")
}

type reportData struct{ Namespace, Run, Path, Source string }

func (u *Pages) reportPage(r *site.Request, run *runs.Run, name string) *site.Page {
	return &site.Page{Template: "report", Title: path.Base(name), Section: "runs", Wide: true,
		Data: reportData{r.Namespace(), run.ID.ID, name, u.Public.Base + r.URL.EscapedPath()}}
}

func (u *Pages) granted(r *site.Request) (*runs.Run, error) {
	var g grant
	if err := u.Sealer.Unseal(r.Context(), grantPurpose, r.PathValue("grant"), &g); err != nil {
		if errors.Is(err, seal.ErrSeal) {
			return nil, site.NotFound()
		}
		return nil, err
	}
	if !u.Runs.HasArchive() {
		return nil, site.NotFound()
	}
	if err := u.Recognize(r, g.Identity); err != nil {
		return nil, err
	}
	r.SetPathValue("namespace", g.Namespace)
	r.SetPathValue("id", g.Run)
	if err := u.Authorize(r); err != nil {
		return nil, site.NotFound()
	}
	return u.find(r)
}

// FileOwner returns the namespace of the grant of a request for a file, or "" for a forged grant.
func (u *Pages) FileOwner(r *site.Request) string {
	var g grant
	if err := u.Sealer.Unseal(r.Context(), grantPurpose, r.PathValue("grant"), &g); err != nil {
		return ""
	}
	return g.Namespace
}

func (u *Pages) setFileHeaders(h http.Header, r *site.Request, name string) {
	source := u.filesOrigin(r) + u.Public.Base + "/files/" + r.PathValue("grant") + "/"
	h.Set("Content-Security-Policy", "sandbox allow-scripts allow-popups allow-downloads; default-src "+source+
		" data: blob: 'unsafe-inline' 'unsafe-eval'; form-action 'none'; base-uri 'none'; frame-ancestors 'self'")
	h.Set("X-Frame-Options", "SAMEORIGIN")
	h.Set("Cache-Control", "private, max-age=3600")
	h.Set("Access-Control-Allow-Origin", "null") // a report reads its own files from its opaque origin
	h.Set("Cross-Origin-Resource-Policy", "cross-origin")
	kind := view.FileKindOf(name)
	if kind.Name != "" && !r.URL.Query().Has("download") {
		h.Set("Content-Type", kind.ContentType)
		return
	}
	h.Set("Content-Type", "application/octet-stream")
	h.Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": path.Base(name)}))
}

// filesOrigin is the origin of this request, because a sandboxed page has no 'self'.
func (u *Pages) filesOrigin(r *site.Request) string {
	scheme := "http://"
	if u.Public.Secure || r.TLS != nil {
		scheme = "https://"
	}
	return scheme + r.Host
}

// patient gives the browser time for each part of a long answer.
func (u *Pages) patient(w http.ResponseWriter) http.ResponseWriter {
	return &patientWriter{ResponseWriter: w, control: http.NewResponseController(w), timeout: u.Limits.WriteTimeout}
}

type patientWriter struct {
	http.ResponseWriter
	control *http.ResponseController
	timeout time.Duration
}

func (w *patientWriter) Write(p []byte) (int, error) {
	_ = w.control.SetWriteDeadline(time.Now().Add(w.timeout)) // tests have no connection
	return w.ResponseWriter.Write(p)
}
