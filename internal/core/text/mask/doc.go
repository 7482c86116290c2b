// Package mask replaces what looks secret among the variables of a run, and finds it again in what its tests print. It is pure: it knows
// variables alone, because the manager reads no Secrets.
package mask
