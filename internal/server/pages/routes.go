package pages

import "net/http"

func (u *UI) routes() map[string]http.Handler {
	all := map[string]http.Handler{
		"GET /assets/{hash}/{name}": http.HandlerFunc(u.serveAsset),
		"GET /favicon.ico":          http.HandlerFunc(u.serveFavicon),
	}
	for pattern, kind := range u.pages() {
		all[pattern] = u.handle(u.serve(kind))
	}
	for _, section := range []string{"runs", "tests", "triggers", "environments", "insights", "board"} {
		all["GET /"+section] = u.handle(u.ownTeam(section))
	}
	for pattern, answer := range map[string]func(http.ResponseWriter, *request) error{
		"GET /runs/{namespace}/{id}/log/live":      onlyGet(u.followLog),
		"GET /runs/{namespace}/{id}/log/text":      u.downloadLog,
		"GET /runs/{namespace}/{id}/log/test":      u.findTest,
		"GET /files/{grant}/{pod}/{path...}":       u.serveFile,
		"GET /sign-in/provider":                    u.visitProvider,
		"GET /sign-in/callback":                    u.returnFromProvider,
		"POST /sign-in":                            u.signIn,
		"POST /sign-in/back-channel-logout":        u.providerLogout,
		"POST /sign-out":                           u.signOut,
		"POST /runs/{namespace}/{id}/cancel":       u.cancel,
		"POST /runs/{namespace}/{id}/rerun":        u.rerun,
		"POST /runs/{namespace}/{id}/rerun-failed": u.rerunFailed,
		"/": func(http.ResponseWriter, *request) error { return notFound() },
	} {
		all[pattern] = u.handle(answer)
	}
	return all
}

func (u *UI) pages() map[string]pageKind {
	return map[string]pageKind{
		"GET /{$}":                             {build: u.homePage},
		"GET /docs":                            {build: u.referencePage},
		"GET /sign-in":                         {build: u.signInPage},
		"GET /teams":                           {build: u.teamsPage},
		"GET /runs/{namespace}":                {build: u.runsPage, shared: true},
		"GET /runs/{namespace}/{id}":           {build: u.runPage}, // its links to files are the reader's own
		"GET /runs/{namespace}/{id}/log":       {build: u.logPage},
		"GET /runs/{namespace}/{id}/artifacts": {build: u.artifactsPage},
		"GET /runs/{namespace}/{id}/variables": {build: u.variablesPage},
		"GET /runs/{namespace}/{id}/attempts":  {build: u.attemptsPage},
		"GET /tests/{namespace}":               {build: u.testsPage, shared: true},
		"GET /tests/{namespace}/show":          {build: u.testPage, shared: true},
		"GET /insights/{namespace}":            {build: u.insightsPage, shared: true},
		"GET /triggers/{namespace}":            {build: u.triggersPage, shared: true},
		"GET /triggers/{namespace}/{id}":       {build: u.triggerPage, shared: true},
		"GET /environments/{namespace}":        {build: u.environmentsPage, shared: true},
		"GET /environments/{namespace}/{id}":   {build: u.environmentPage, shared: true},
		"GET /board/{namespace}":               {build: u.boardPage, shared: true},
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
	protection := http.NewCrossOriginProtection()
	if origin := u.public.Origin; origin != "" {
		_ = protection.AddTrustedOrigin(origin) // New has parsed it
	}
	protection.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		u.fail(w, &request{Request: r}, &problem{Status: http.StatusForbidden, Title: "Another site sent you here",
			Text: "For your safety, nothing was done. Open the page here, and try again."})
	}))
	return protection.Handler(next)
}

func (u *UI) ownTeam(section string) func(http.ResponseWriter, *request) error {
	return func(w http.ResponseWriter, r *request) error {
		if r.team == nil {
			return errSignIn
		}
		u.redirect(w, r, "/"+section+"/"+r.namespace())
		return nil
	}
}
