// Package live sends pages that change while they are open: it wakes them, paces them, shares what is rendered for many
// readers, and writes server-sent events.
package live
