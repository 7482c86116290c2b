// Package auth finds the team that a request belongs to, by the bearer key it carries.
//
// Keys are stored nowhere: the SHA-256 of the presented key is looked up among the APIKeys in the
// manager's cache, in the namespace that the key names, or in all if it names none. The namespace
// of the APIKey found names the team. Package apikey decides which is accepted. Wiring, in cmd/manager:
//
//	err := index.Setup(ctx, mgr.GetFieldIndexer())
//	probe := &auth.APIServerProbe{...}              // a Runnable: when the API server was last seen, and the time there
//	usage := auth.NewUsage(mgr.GetClient(), clock)   // a Runnable: writes status.lastUsedTime
//	authenticator := &auth.Authenticator{Config: auth.Config{
//		Reader: mgr.GetCache(), Staleness: probe.Staleness, Used: usage.Record, Clock: clock,
//	}}
package auth
