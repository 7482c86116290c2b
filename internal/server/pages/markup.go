package pages

import (
	"fmt"
	"html/template"
	"strings"

	"github.com/postflight-dev/postflight/internal/core/view"
)

// These parts are in each row of a list. As templates, which escape each value, they take a third of the time of a page. Their values are
// numbers, times and names of ours, and labels, which may be states of a later version.

// sprite is the same on all pages.
var sprite = func() template.HTML {
	var out strings.Builder
	out.WriteString(`<svg class="sprite" aria-hidden="true">`)
	for _, key := range stateKeys() {
		fmt.Fprintf(&out, `<symbol id="i-%s" viewBox="0 0 20 20">%s</symbol>`, key, looks[key].icon)
	}
	out.WriteString("</svg>")
	return template.HTML(out.String())
}()

func percent(p float64) string { return fmt.Sprintf("%.2f%%", p) }

func bar(t *view.Tests) template.HTML {
	passed, failed := percent(t.PassedPercent), percent(t.FailedPercent)
	return template.HTML(`<svg class="bar" aria-hidden="true"><rect class="rest" width="100%" height="100%"/><rect class="good" width="` +
		passed + `" height="100%"/><rect class="bad" x="` + passed + `" width="` + failed + `" height="100%"/></svg>`)
}

func stateIcon(s view.State) template.HTML {
	label, key := template.HTMLEscapeString(s.Label), template.HTMLEscapeString(s.Key)
	return template.HTML(`<svg class="icon ` + key + `" role="img" aria-label="` + label + `"><title>` + label +
		`</title><use href="#i-` + key + `"/></svg>`)
}

func timeElement(t *view.Time) template.HTML {
	return template.HTML(`<relative-time><time datetime="` + t.Stamp + `" title="` + t.Exact + `">` + t.Ago + `</time></relative-time>`)
}
