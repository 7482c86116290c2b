package runs

import (
	"net/http"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/internal/core/access/grant"
	"github.com/postflight-dev/postflight/internal/core/record"
	"github.com/postflight-dev/postflight/internal/core/tests/results"
	"github.com/postflight-dev/postflight/internal/server/api/exchange"
	"github.com/postflight-dev/postflight/internal/usecase/runs"
)

// GetResults returns the tests of a run.
func (a *API) GetResults(w http.ResponseWriter, r *exchange.Request) error {
	run, err := a.findRun(r)
	if err != nil {
		return err
	}
	shown := run.Shown()
	answer := httpapi.RunResults{Run: shown.ID, State: shown.State, Results: shown.Results}
	if shown.Results == nil {
		answer.Problem = shown.ResultsProblem
	}
	if shown.Results != nil {
		explanation, err := a.Runs.Explain(r.Context(), run)
		if err != nil {
			a.Log.Error(err, "the results of a run cannot be read", "run", shown.ID)
			answer.Problem = "What the reports say of the failures cannot be read from the store at the moment. Ask again in a few seconds."
		}
		answer.Results.FlakyTests = explanation.Flaky
		if answer.Results.Failures, err = a.explained(r, run, explanation.Failures); err != nil {
			return archiveAway(err)
		}
	}
	r.AddToAudit("suite", shown.ID, "state", shown.State)
	exchange.WriteJSON(w, http.StatusOK, answer)
	return nil
}

// explained has no files for senders that may only know how runs end.
func (a *API) explained(r *exchange.Request, run *runs.Run, failures []results.Explained) (all []httpapi.TestFailure, err error) {
	for _, f := range failures {
		shown := httpapi.TestFailure{
			Name: f.Name, File: f.File, Line: f.Line, Message: f.Message, History: string(f.History), Text: f.Text, TextCut: f.TextCut,
			Quarantine: f.Quarantine, ExpiredQuarantine: f.ExpiredQuarantine,
		}
		if r.Principal.Grant.Allows(grant.Read) {
			if shown.Attachments, err = a.Runs.SignArtifacts(r.Context(), run, filesOf(f)); err != nil {
				return nil, err
			}
		}
		all = append(all, shown)
	}
	return all, nil
}

func filesOf(f results.Explained) []record.Artifact {
	files := make([]record.Artifact, len(f.Files))
	for i, file := range f.Files {
		files[i] = record.Artifact{Pod: f.Pod, Path: file.Path, Bytes: file.Bytes}
	}
	return files
}
