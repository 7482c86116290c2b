// Package issuer authenticates senders by tokens of issuers that the operator lists, such as CI systems, and that TrustPolicies trust.
package issuer
