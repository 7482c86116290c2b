package runs

import (
	"net/http"

	"github.com/munnerz/goautoneg"

	"github.com/postflight-dev/postflight/internal/core/run/failure"
	"github.com/postflight-dev/postflight/internal/server/api/exchange"
)

// GetFailure returns the document that says why a run ended as it did, as JSON or as Markdown.
func (a *API) GetFailure(w http.ResponseWriter, r *exchange.Request) error {
	run, err := a.findRun(r)
	if err != nil {
		return err
	}
	if err := a.AcquireArchive(r); err != nil {
		return err
	}
	f := a.Failures.Read(r.Context(), r.Principal.Team, run)
	r.AddToAudit("suite", f.Run, "state", f.State)
	w.Header().Add("Vary", "Accept")
	if goautoneg.Negotiate(r.Header.Get("Accept"), []string{"application/json", markdown}) != markdown {
		exchange.WriteJSON(w, http.StatusOK, f)
		return nil
	}
	exchange.BeginJSON(w, markdown+"; charset=utf-8", http.StatusOK)
	_, _ = w.Write([]byte(failure.Markdown(f))) // the client may be gone
	return nil
}

const markdown = "text/markdown"
