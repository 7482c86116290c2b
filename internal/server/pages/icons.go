package pages

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
	"net/http"

	"github.com/postflight-dev/postflight/internal/core/state"
	"github.com/postflight-dev/postflight/internal/core/view"
	"github.com/postflight-dev/postflight/internal/core/view/environment"
	"github.com/postflight-dev/postflight/internal/core/view/insights"
	"github.com/postflight-dev/postflight/internal/server/assets"
	"github.com/postflight-dev/postflight/internal/server/pages/site"
)

//go:embed static
var staticFiles embed.FS

// look is how a state is drawn. Colours are those of the light theme, because a tab's icon cannot follow the page.
type look struct {
	icon  template.HTML // in a box of 20 by 20
	color string
}

// looks are those of the states of runs, and of what only pages tell apart. The colours of the latter are also in postflight.css.
var looks = func() map[string]look {
	all := map[string]look{
		view.Quarantined:         {`<circle cx="10" cy="10" r="7.5"/><path d="m6.3 10.3 2.5 2.5 5-5.3"/>`, "#7a6a1a"},
		insights.TestUnsure.Key:  {`<path d="M2.5 12.5 7 5l5.5 10L17.5 7"/><path d="M13.6 6.2 17.6 6.9 18.2 11"/>`, "#7a5f14"},
		insights.TestSkipped.Key: {`<circle cx="10" cy="10" r="7.5"/><path d="M6.5 10h7"/>`, "#6d6a64"},
	}
	for _, v := range environment.VerdictLooks() {
		all[v.Key] = look{template.HTML(v.Icon), v.Colors.Light}
	}
	for _, row := range state.All() {
		all[row.Key] = look{template.HTML(row.Icon), row.Colors.Light}
	}
	return all
}()

const stylesheet = "postflight.css"

func loadAssets() (*assets.Assets, error) {
	a, err := assets.Load(staticFiles, "static")
	if err != nil {
		return nil, err
	}
	css, err := staticFiles.ReadFile("static/" + stylesheet)
	if err != nil {
		return nil, err
	}
	if err := a.Add(stylesheet, bytes.Replace(css, []byte("/* "+rulesHere+" */\n"), stateRules(), 1)); err != nil {
		return nil, err
	}
	for key := range looks {
		if err := a.Add("state-"+key+".svg", stateFavicon(key)); err != nil {
			return nil, err
		}
	}
	return a, nil
}

// rulesHere marks the place in the stylesheet, because later rules change some colours.
const rulesHere = "The rules of states of runs are added here."

// stateRules are the colours of the states of runs and verdicts: for the icon and for the background of a label.
func stateRules() []byte {
	var rules, light, dark bytes.Buffer
	add := func(key string, c state.Colors) {
		fmt.Fprintf(&light, "--%s: %s; --%s-soft: %s; ", key, c.Light, key, c.LightSoft)
		fmt.Fprintf(&dark, "--%s: %s; --%s-soft: %s; ", key, c.Dark, key, c.DarkSoft)
		fmt.Fprintf(&rules, ".%s { color: var(--%s); } .state.%s { background: var(--%s-soft); }\n", key, key, key, key)
	}
	for _, row := range state.All() {
		add(row.Key, row.Colors)
	}
	for _, v := range environment.VerdictLooks() {
		add(v.Key, v.Colors)
	}
	return fmt.Appendf(nil, ":root { %s}\n@media (prefers-color-scheme: dark) { :root { %s} }\n%s", &light, &dark, &rules)
}

func (u *UI) icon(key string) string {
	if _, known := looks[key]; known {
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
	return fmt.Appendf(nil,
		`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 20 20" color="%s" fill="none" stroke="currentColor" stroke-width="2" stroke-linecap="round" stroke-linejoin="round">%s</svg>`,
		looks[key].color, looks[key].icon)
}

func stateKeys() []string {
	keys := []string{view.Quarantined, insights.TestUnsure.Key, insights.TestSkipped.Key}
	for _, v := range environment.VerdictLooks() {
		keys = append(keys, v.Key)
	}
	for _, row := range state.All() {
		keys = append(keys, row.Key)
	}
	return keys
}
