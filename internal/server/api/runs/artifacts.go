package runs

import (
	"context"
	"encoding/base64"
	"net/http"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/internal/core/record"
	"github.com/postflight-dev/postflight/internal/core/text/inputpath"
	"github.com/postflight-dev/postflight/internal/server/api/exchange"
	"github.com/postflight-dev/postflight/internal/server/api/limits"
	"github.com/postflight-dev/postflight/internal/usecase/runs"
)

// ListArtifacts returns a page of files that a run wrote.
func (a *API) ListArtifacts(w http.ResponseWriter, r *exchange.Request) error {
	query, err := artifactsQueryOf(r.URL.RawQuery)
	if err != nil {
		return err
	}
	run, err := a.findRun(r)
	if err != nil {
		return err
	}
	page, err := a.pageOfArtifacts(r.Context(), run, query)
	if err != nil {
		return archiveAway(err)
	}
	r.AddToAudit("suite", run.ID.ID, "artifacts", len(page.Artifacts))
	exchange.WriteJSON(w, http.StatusOK, page)
	return nil
}

type artifactsQuery struct {
	pod   string // empty: all
	after string // the pod, a slash, and the path
	limit int
}

func artifactsQueryOf(rawQuery string) (q artifactsQuery, err error) {
	p, err := exchange.ParametersOf(rawQuery, "pod", "limit", "cursor")
	if err != nil {
		return q, err
	}
	q.pod = p["pod"]
	if q.limit, err = p.Number("limit", 1, limits.MaxArtifacts, limits.DefaultArtifacts); err != nil {
		return q, err
	}
	if cursor, found := p["cursor"]; found {
		q.after, err = fileOfCursor(cursor)
	}
	return q, err
}

func fileOfCursor(cursor string) (string, error) {
	decoded, err := base64.RawURLEncoding.DecodeString(cursor)
	pod, path, _ := strings.Cut(string(decoded), "/")
	if err != nil || len(validation.IsDNS1123Subdomain(pod)) > 0 || inputpath.Check(path) != nil {
		return "", exchange.InvalidCursor()
	}
	return string(decoded), nil
}

func (q artifactsQuery) podExists() bool {
	return q.pod == "" || len(validation.IsDNS1123Subdomain(q.pod)) == 0
}

func (a *API) pageOfArtifacts(ctx context.Context, run *runs.Run, q artifactsQuery) (httpapi.ArtifactList, error) {
	page := httpapi.ArtifactList{Artifacts: []httpapi.Artifact{}}
	if !q.podExists() {
		return page, nil
	}
	files, next, err := a.Runs.Artifacts(ctx, run, q.start(), q.limit)
	if err != nil {
		return page, err
	}
	if i := slices.IndexFunc(files, func(f record.Artifact) bool { return q.pod != "" && f.Pod != q.pod }); i >= 0 {
		files, next = files[:i], "" // the others are of later pods
	}
	signed, err := a.Runs.SignArtifacts(ctx, run, files)
	page.Artifacts = append(page.Artifacts, signed...)
	if next != "" {
		page.Next = base64.RawURLEncoding.EncodeToString([]byte(next))
	}
	return page, err
}

// start returns the position before the first file to list.
func (q artifactsQuery) start() string {
	if q.pod == "" || strings.HasPrefix(q.after, q.pod+"/") {
		return q.after
	}
	return q.pod + "/"
}
