// Package endpoint is the HTTP API: it answers notifications by creating Suites.
//
// Every route is in routes.go, every limit in limits.go, every error in errors.go. Wiring, in
// cmd/manager:
//
//	err := index.Setup(ctx, mgr.GetFieldIndexer())
//	api, err := endpoint.New(endpoint.Config{
//		Cache: mgr.GetCache(), Live: mgr.GetAPIReader(), Writer: mgr.GetClient(),
//		Triggers: index, // *match.Index
//		Authenticate: func(r *http.Request) (endpoint.Principal, error) {
//			p, err := authenticator.Authenticate(r.Context(), r)
//			return endpoint.Principal(p), err
//		},
//		Limits: endpoint.DefaultLimits(), Registerer: metrics.Registry,
//		Log: ctrl.Log.WithName("http"), Audit: slog.New(slog.NewJSONHandler(os.Stdout, nil)),
//	})
//	server := &http.Server{Addr: ":8080", Handler: api}
//	api.Limits().Apply(server)
//
// A notification is answered after its Suites exist. Where the API server is away the request is
// held and the same names are tried again, so that neither a retry nor another replica makes a
// second Suite: see hold.go and place.go.
package endpoint
