// Package auth finds out which team a request belongs to, by the bearer key it carries.
//
// Keys are stored nowhere: the SHA-256 of the presented key is looked up among the APIKeys in the
// manager's cache, of the namespace that the key names, or of all where it names none. The namespace
// of the APIKey found names the team. Package apikey decides which is accepted. Wiring, in cmd/manager:
//
//	err := auth.SetupIndexes(ctx, mgr.GetFieldIndexer())
//	contact := &auth.Contact{Probe: ...}             // a Runnable: when was the API server last seen, and what time was it there
//	usage := auth.NewUsage(mgr.GetClient(), time.Now) // a Runnable: writes status.lastUsedTime
//	authenticator := auth.New(auth.Config{Reader: mgr.GetCache(), Freshness: contact.Since, Used: usage.Saw})
package auth
