// Package auth finds the team of a request, and what its sender may do, by the bearer: an API key, which it looks up by its SHA-256, or a
// token. It also finds the pod of a token.
package auth
