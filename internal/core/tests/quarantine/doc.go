// Package quarantine decides which Quarantines a run applies, and which tests they name. It is pure.
package quarantine
