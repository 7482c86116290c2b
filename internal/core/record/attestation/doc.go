// Package attestation makes the signed verdict of a run, an in-toto Statement about a test result, and decides which verdicts are good
// enough.
//
// It is pure: others sign, store and verify. The types follow the published specification:
// https://github.com/in-toto/attestation/blob/main/spec/predicates/test-result.md. What only Postflight knows is in the annotations of a
// descriptor, because policies that know the specification skip them.
package attestation
