package pages

import (
	"net/http"

	"github.com/postflight-dev/postflight/internal/server/origin"
	"github.com/postflight-dev/postflight/internal/server/pages/site"
)

func (u *UI) routes() map[string]http.Handler {
	all := map[string]http.Handler{
		"GET /assets/{hash}/{name}": http.HandlerFunc(u.serveAsset),
		"GET /favicon.ico":          http.HandlerFunc(u.serveFavicon),
	}
	for pattern, kind := range u.pages() {
		all[pattern] = u.Handle(u.Serve(kind))
	}
	all["GET /environments/{namespace}/{id}/badge.svg"] = u.HandleFor(u.overview.AuthorizeBadge, u.overview.Badge)
	for _, section := range []string{"runs", "tests", "triggers", "environments", "insights", "board"} {
		all["GET /"+section] = u.Handle(u.ownTeam(section))
	}
	for pattern, answer := range map[string]func(http.ResponseWriter, *site.Request) error{
		"GET /runs/{namespace}/{id}/log/live":      site.OnlyGet(u.run.FollowLog),
		"GET /runs/{namespace}/{id}/log/text":      u.run.DownloadLog,
		"GET /runs/{namespace}/{id}/log/test":      u.run.FindTest,
		"GET /files/{grant}/{pod}/{path...}":       u.run.ServeFile,
		"GET /sign-in/provider":                    u.visitProvider,
		"GET /sign-in/callback":                    u.returnFromProvider,
		"POST /sign-in":                            u.signIn,
		"POST /sign-in/back-channel-logout":        u.providerLogout,
		"POST /sign-out":                           u.signOut,
		"POST /runs/{namespace}/{id}/cancel":       u.run.Cancel,
		"POST /runs/{namespace}/{id}/rerun":        u.run.Rerun,
		"POST /runs/{namespace}/{id}/rerun-failed": u.run.RerunFailed,

		"POST /environments/{namespace}/{id}/commits/{sha}/start": u.overview.StartMissing,

		"/": func(http.ResponseWriter, *site.Request) error { return site.NotFound() },
	} {
		all[pattern] = u.Handle(answer)
	}
	return all
}

func (u *UI) pages() map[string]site.Kind {
	return map[string]site.Kind{
		"GET /{$}":                             {Build: u.overview.HomePage},
		"GET /docs":                            {Build: u.overview.ReferencePage},
		"GET /sign-in":                         {Build: u.signInPage},
		"GET /teams":                           {Build: u.overview.TeamsPage},
		"GET /runs/{namespace}":                {Build: u.overview.RunsPage, Shared: true},
		"GET /runs/{namespace}/{id}":           {Build: u.run.ResultsPage}, // its links to files are the reader's own
		"GET /runs/{namespace}/{id}/log":       {Build: u.run.LogPage},
		"GET /runs/{namespace}/{id}/artifacts": {Build: u.run.ArtifactsPage},
		"GET /runs/{namespace}/{id}/variables": {Build: u.run.VariablesPage},
		"GET /runs/{namespace}/{id}/attempts":  {Build: u.run.AttemptsPage},
		"GET /tests/{namespace}":               {Build: u.overview.TestsPage, Shared: true},
		"GET /tests/{namespace}/show":          {Build: u.overview.TestPage, Shared: true},
		"GET /insights/{namespace}":            {Build: u.overview.InsightsPage, Shared: true},
		"GET /triggers/{namespace}":            {Build: u.overview.TriggersPage, Shared: true},
		"GET /triggers/{namespace}/{id}":       {Build: u.overview.TriggerPage, Shared: true},
		"GET /environments/{namespace}":        {Build: u.overview.EnvironmentsPage, Shared: true},
		"GET /environments/{namespace}/{id}":   {Build: u.overview.EnvironmentPage, Shared: true},
		"GET /board/{namespace}":               {Build: u.overview.BoardPage, Shared: true},

		"GET /environments/{namespace}/{id}/commits/{sha}": {Build: u.overview.CommitPage, Shared: true},
	}
}

func (u *UI) newMux() http.Handler {
	mux := http.NewServeMux()
	for pattern, handler := range u.routes() {
		mux.Handle(pattern, handler)
	}
	return u.sameOrigin(mux)
}

// sameOrigin refuses requests by which another site would act as the reader.
func (u *UI) sameOrigin(next http.Handler) http.Handler {
	return origin.SameOnly(u.Public.Origin, next, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		u.Fail(w, &site.Request{Request: r}, &site.Problem{Status: http.StatusForbidden, Title: "Another site sent you here",
			Text: "For your safety, nothing was done. Open the page here, and try again."})
	}))
}

func (u *UI) ownTeam(section string) func(http.ResponseWriter, *site.Request) error {
	return func(w http.ResponseWriter, r *site.Request) error {
		if r.Team == nil {
			return site.ErrSignIn
		}
		u.Redirect(w, r, "/"+section+"/"+r.Namespace())
		return nil
	}
}
