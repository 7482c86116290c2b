// Package sigstore verifies signed verdicts with programs and libraries that are not ours. It is a module of its own, because these need
// more than 200 others.
package sigstore
