package pages

import (
	"embed"
	"fmt"
	"html/template"
	"net/http"

	"github.com/postflight-dev/postflight/internal/core/view"
	"github.com/postflight-dev/postflight/internal/core/view/insights"
	"github.com/postflight-dev/postflight/internal/server/assets"
	"github.com/postflight-dev/postflight/internal/server/pages/site"
)

//go:embed static
var staticFiles embed.FS

// stateShapes are icons in a box of 20 by 20.
var stateShapes = map[string]template.HTML{
	"passed":       `<circle cx="10" cy="10" r="8.5" fill="currentColor" stroke="none"/><path class="cut" d="m6.3 10.3 2.5 2.5 5-5.3" stroke="#fff"/>`,
	"quarantined":  `<circle cx="10" cy="10" r="7.5"/><path d="m6.3 10.3 2.5 2.5 5-5.3"/>`,
	"failed":       `<circle cx="10" cy="10" r="8.5" fill="currentColor" stroke="none"/><path class="cut" d="m7 7 6 6m0-6-6 6" stroke="#fff"/>`,
	"running":      `<circle cx="10" cy="10" r="7.5" opacity=".25"/><path class="arc" d="M10 2.5a7.5 7.5 0 0 1 7.5 7.5"/>`,
	"queued":       `<circle cx="10" cy="10" r="7.5" stroke-dasharray="3.2 2.7"/><path d="M10 6v4l2.6 1.7"/>`,
	"starting":     `<circle cx="10" cy="10" r="7.5" stroke-dasharray=".1 3.83" stroke-width="2.4"/><circle cx="10" cy="10" r="2.6" fill="currentColor" stroke="none"/>`,
	"timedout":     `<path d="M5 2.5h10M5 17.5h10M6.2 2.5v2.8c0 2.2 3.8 3 3.8 4.7s-3.8 2.5-3.8 4.7v2.8M13.8 2.5v2.8c0 2.2-3.8 3-3.8 4.7s3.8 2.5 3.8 4.7v2.8"/>`,
	"error":        `<path d="M10 2.6 18.2 16.8H1.8z"/><path d="M10 8v4M10 14.4v.1"/>`,
	"canceled":     `<circle cx="10" cy="10" r="7.5"/><path d="M4.7 15.3 15.3 4.7"/>`,
	"superseded":   `<circle cx="10" cy="10" r="7.5"/><path d="m6.6 11.4 3.4-3.2 3.4 3.2"/>`,
	"inconclusive": `<circle cx="10" cy="10" r="7.5"/><path d="M7.7 8a2.4 2.4 0 1 1 3.5 2.1c-.8.4-1.2.9-1.2 1.7M10 14.3v.1"/>`,
	"flaky":        `<path d="M2.5 12.5 7 5l5.5 10L17.5 7"/><path d="M13.6 6.2 17.6 6.9 18.2 11"/>`,
	"skipped":      `<circle cx="10" cy="10" r="7.5"/><path d="M6.5 10h7"/>`,
	"none":         `<circle cx="10" cy="10" r="7.5" opacity=".45"/>`,
}

// stateColors are colors of the light theme, because a tab's icon cannot follow the page.
var stateColors = map[string]string{
	"passed": "#1f7a4d", "quarantined": "#7a6a1a", "failed": "#c4342d", "running": "#2563c9", "queued": "#8a6d1a", "starting": "#0e7c86",
	"timedout": "#b85c00", "error": "#8a3fb0", "canceled": "#6d6a64", "superseded": "#6d6a64", "inconclusive": "#52658f", "flaky": "#7a5f14",
	"skipped": "#6d6a64", "none": "#6d6a64",
}

func loadAssets() (*assets.Assets, error) {
	a, err := assets.Load(staticFiles, "static")
	for key := range stateShapes {
		if err == nil {
			err = a.Add("state-"+key+".svg", stateFavicon(key))
		}
	}
	return a, err
}

func (u *UI) icon(key string) string {
	if _, known := stateShapes[key]; known {
		return u.asset("state-" + key + ".svg")
	}
	return u.asset("favicon.svg")
}

func (u *UI) asset(name string) string { return u.Public.Base + u.assets.Path(name) }

func (u *UI) serveAsset(w http.ResponseWriter, r *http.Request) {
	if !u.assets.Serve(w, r) {
		site.FailPlainly(w, http.StatusNotFound, "There is no such file.")
	}
}

func (u *UI) serveFavicon(w http.ResponseWriter, r *http.Request) {
	http.Redirect(w, r, u.asset("favicon.svg"), http.StatusFound)
}

func stateFavicon(key string) []byte {
	return fmt.Appendf(nil, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 20 20" color="%s" fill="none" stroke="currentColor" stroke-width="2" stroke-linecap="round" stroke-linejoin="round">%s</svg>`,
		stateColors[key], stateShapes[key])
}

func stateKeys() []string {
	keys := []string{view.NoRun.Key, view.Quarantined, insights.TestUnsure.Key, insights.TestSkipped.Key}
	for _, s := range view.States() {
		keys = append(keys, s.Key)
	}
	return keys
}
