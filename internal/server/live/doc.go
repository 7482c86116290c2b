// Package live sends pages that change while they are open as server-sent events: it wakes, paces and shares them among readers.
package live
