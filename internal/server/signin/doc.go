// Package signin knows people: who a person is, from an API key, an OpenID Connect provider or a proxy that has
// authenticated them, which teams they may see, and which sessions have ended. Package auth, which it builds on, knows the
// keys and pods that send requests; only pages need people.
package signin
