// Package api is the HTTP API. Its routes are in routes.go, its limits in limits.go, its errors in errors.go.
package api
