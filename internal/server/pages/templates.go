package pages

import (
	"embed"
	"fmt"
	"html/template"
	"io/fs"
	"strconv"
	"strings"

	"github.com/postflight-dev/postflight/internal/core/view"
)

//go:embed templates
var templateFiles embed.FS

var shared = []string{"templates/layout.html", "templates/parts.html", "templates/history.html"}

// parseTemplates returns a set of templates per page: the shared ones, and its own "content".
func parseTemplates(functions template.FuncMap) (map[string]*template.Template, error) {
	base, err := template.New("").Funcs(functions).ParseFS(templateFiles, shared...)
	if err != nil {
		return nil, err
	}
	pages, err := fs.Glob(templateFiles, "templates/pages/*.html")
	if err != nil {
		return nil, err
	}
	all := map[string]*template.Template{}
	for _, file := range pages {
		set, err := base.Clone()
		if err == nil {
			set, err = set.ParseFS(templateFiles, file)
		}
		if err != nil {
			return nil, err
		}
		all[strings.TrimSuffix(strings.TrimPrefix(file, "templates/pages/"), ".html")] = set
	}
	return all, nil
}

// href is the address of the page of a run: here, or in the cluster that has it.
func (u *UI) href(r view.Row) string {
	if r.Cluster != "" {
		return r.URL
	}
	return u.Path("/runs", r.Namespace, r.ID)
}

func (u *UI) functions() template.FuncMap {
	return template.FuncMap{
		"path":   u.Path,
		"href":   u.href,
		"asset":  u.asset,
		"icon":   u.icon,
		"sprite": func() template.HTML { return sprite },
		"bytes":  view.Bytes,
		"args":   func(all ...any) []any { return all },
		"initial": func(name string) string {
			return strings.ToUpper(name[:min(1, len(name))])
		},
		"bar":        bar,
		"stateIcon":  stateIcon,
		"time":       timeElement,
		"percent":    percent,
		"units":      func(n float64) string { return fmt.Sprintf("%.1f", n) },
		"coordinate": func(n float64) string { return strconv.FormatFloat(n, 'f', 2, 64) },
		"named": func(name string, value any, others ...any) map[string]any {
			all := map[string]any{name: value}
			for i := 0; i+1 < len(others); i += 2 {
				all[fmt.Sprint(others[i])] = others[i+1]
			}
			return all
		},
		"origin": func() string { return u.Public.Origin + u.Public.Base },
		"steps": func(s view.Steps, namespace string) map[string]any {
			return map[string]any{"Steps": s, "Namespace": namespace}
		},
	}
}
