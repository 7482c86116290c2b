// Package controllers sets up the reconcilers, which are in a package each, and the cache and metrics they share.
package controllers
