// Package auth finds the team of a request by its bearer key, and the pod by its token. It looks keys up by their SHA-256.
package auth
