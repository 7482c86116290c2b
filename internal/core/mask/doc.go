// Package mask replaces what looks secret among the variables of a run, and finds it again in what its tests print.
//
// It is pure. It knows variables alone: the manager reads no Secrets.
package mask
