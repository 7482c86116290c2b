// Package pages serves the run pages: HTML from templates. What they show is decided in internal/core/view. The same URL as an event
// stream sends the page again whenever it changes. Only Actions can write.
package pages
