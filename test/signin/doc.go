// Package signin tests that people sign in to the run pages with a real OpenID Connect provider, in a real browser, at
// several replicas of the manager. It is a module of its own, so that the manager needs nothing of the provider.
package signin
