// Package auth finds the team of a request by its bearer key, and the pod by its token.
//
// Keys are stored nowhere: the SHA-256 of the key is looked up among the cached APIKeys, in the namespace that the key
// names, or in all if it names none. Package apikey decides which of them is accepted.
package auth
