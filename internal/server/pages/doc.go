// Package pages serves the run pages: HTML from templates, with a few custom elements that make them live.
//
// It takes readers and one narrow Actions, so that everything else is read-only by construction. What the pages show is
// decided in internal/core/view. A page is one function that builds it; the same URL, requested as an event stream,
// sends the page again whenever it changes.
package pages
