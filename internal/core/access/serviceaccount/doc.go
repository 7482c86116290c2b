// Package serviceaccount decides what a ServiceAccount token claims, what to ask the API server about it, and what the answers mean.
package serviceaccount
