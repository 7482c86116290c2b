// Package signin finds out who a person is, from an OpenID Connect provider or from a proxy that has authenticated
// them, and which teams their groups may see. It knows nothing of pages and cookies.
package signin
