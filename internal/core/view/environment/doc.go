// Package environment decides what the pages of Environments show: what is deployed there, what its tests said, and its days as lanes. All
// text in them is untrusted; html/template escapes it.
package environment
