// Package trust decides by the claims of a token which TrustPolicy lets its sender in, and what the sender may do.
package trust
