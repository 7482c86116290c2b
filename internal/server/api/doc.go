// Package api is the HTTP API: it decodes requests, dispatches notifications and encodes the answers.
//
// Every route is in routes.go, every limit in limits.go, every error in errors.go.
package api
