// Package signing signs with keys from files, and wraps what it signed in a bundle that Sigstore's tools verify.
//
// It has the only private keys of an installation that others trust, and hands out none.
package signing
