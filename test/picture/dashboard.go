package picture

import (
	"encoding/json"
	"fmt"
	"html/template"
	"math"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"sort"
	"strconv"
	"strings"
	"testing"
	"time"
)

// panel is one of the dashboard's file, with what was found for it.
type panel struct {
	Title, Type string
	GridPos     struct{ X, Y, W, H int }
	FieldConfig struct{ Defaults struct{ Unit string } }
	Targets     []struct{ Expr, LegendFormat string }

	Lines []line
	Last  string // of a single number
	Max   string
}

type line struct {
	Name, Color, Points string
	values              [][2]float64 // seconds, value
}

// A cell of the dashboard's grid, which has 24 columns, in pixels; and the size of a chart's coordinates.
const (
	cellWidth, cellHeight   = 58, 32
	chartWidth, chartHeight = 1000, 300
)

var colors = []string{"#3e63dd", "#30a46c", "#e5484d", "#f76b15", "#8e4ec6", "#00a2c7", "#ad7f58", "#889096"}

// Dashboard draws the panels of a dashboard with what a Prometheus has of the time since.
func Dashboard(t testing.TB, file, dashboard, prometheus string, since time.Time) {
	t.Helper()
	text, err := os.ReadFile(dashboard)
	var d struct{ Panels []*panel }
	if err == nil {
		err = json.Unmarshal(text, &d)
	}
	if err != nil {
		t.Fatal(err)
	}
	height := 0
	for _, p := range d.Panels {
		for _, target := range p.Targets {
			p.Lines = append(p.Lines, query(t, prometheus, target.Expr, target.LegendFormat, since)...)
		}
		p.scale(since)
		height = max(height, (p.GridPos.Y+p.GridPos.H)*cellHeight)
	}
	draw(t, file, dashboardPage, map[string]any{"Panels": d.Panels, "W": cellWidth, "H": cellHeight}, 24*cellWidth+32, height+32)
}

// query asks for a range of time, a point a second.
func query(t testing.TB, prometheus, expr, legend string, since time.Time) (lines []line) {
	t.Helper()
	expr = strings.NewReplacer("$namespace", ".*", "$__rate_interval", "15s").Replace(expr)
	v := url.Values{"query": {expr}, "step": {"1"}, "start": {fmt.Sprint(since.Unix())}, "end": {fmt.Sprint(time.Now().Unix())}}
	resp, err := http.Get(prometheus + "/api/v1/query_range?" + v.Encode())
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var answer struct {
		Data struct {
			Result []struct {
				Metric map[string]string
				Values [][2]any
			}
		}
	}
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil {
		t.Fatalf("%s: %v", expr, err)
	}
	for _, r := range answer.Data.Result {
		l := line{Name: nameOf(legend, r.Metric)}
		for _, value := range r.Values {
			if n, err := strconv.ParseFloat(value[1].(string), 64); err == nil && !math.IsNaN(n) {
				l.values = append(l.values, [2]float64{value[0].(float64), n})
			}
		}
		lines = append(lines, l)
	}
	return lines
}

// unset matches a label that a series lacks.
var unset = regexp.MustCompile(`{{\w+}}`)

// nameOf fills the labels into a legend, as Grafana does.
func nameOf(legend string, labels map[string]string) string {
	for name, value := range labels {
		legend = strings.ReplaceAll(legend, "{{"+name+"}}", value)
	}
	return strings.TrimSpace(unset.ReplaceAllString(legend, ""))
}

// scale turns values into points of the chart, from zero to the greatest value.
func (p *panel) scale(since time.Time) {
	sort.Slice(p.Lines, func(i, j int) bool { return p.Lines[i].Name < p.Lines[j].Name })
	greatest := 0.0
	for _, l := range p.Lines {
		for _, v := range l.values {
			greatest = max(greatest, v[1])
		}
	}
	unit := p.FieldConfig.Defaults.Unit
	p.Max = show(greatest, unit)
	length := time.Since(since).Seconds()
	for i, l := range p.Lines {
		var points strings.Builder
		for _, v := range l.values {
			x := chartWidth * (v[0] - float64(since.Unix())) / length
			fmt.Fprintf(&points, "%.1f,%.1f ", x, chartHeight*(1-v[1]/max(greatest, 1e-9)))
			p.Last = show(v[1], unit)
		}
		p.Lines[i].Points, p.Lines[i].Color = points.String(), colors[i%len(colors)]
		if p.Type == "stat" && l.Name != "" {
			p.Last = l.Name
		}
	}
}

func show(v float64, unit string) string {
	switch unit {
	case "s":
		return strconv.FormatFloat(v, 'g', 3, 64) + " s"
	case "bytes":
		return fmt.Sprintf("%.0f MiB", v/(1<<20))
	case "percentunit":
		return fmt.Sprintf("%.1f%%", 100*v)
	case "reqps":
		return strconv.FormatFloat(v, 'g', 3, 64) + "/s"
	default:
		return strconv.FormatFloat(v, 'g', 4, 64)
	}
}

var dashboardPage = template.Must(template.New("").Funcs(template.FuncMap{
	"mul": func(a, b int) int { return a * b },
}).Parse(`<!doctype html><meta charset="utf-8"><style>
body { margin: 16px; font: 12px system-ui, sans-serif; color: #1c2024; background: #f9f9fb; position: relative }
.panel { position: absolute; padding: 3px; box-sizing: border-box } .box { background: #fff; border: 1px solid #e0e1e6; border-radius: 6px;
height: 100%; box-sizing: border-box; padding: 8px 10px; display: flex; flex-direction: column; overflow: hidden }
.row { font-size: 15px; font-weight: 600; padding: 8px 4px } h2 { font-size: 13px; margin: 0 0 4px; font-weight: 600 }
.stat { font-size: 28px; font-weight: 600; color: #3e63dd; margin: auto; white-space: nowrap } .max { color: #80838d }
svg { flex: 1; width: 100%; min-height: 0; border-bottom: 1px solid #e0e1e6 } .legend { color: #60646c; white-space: nowrap; margin-top: 4px }
.legend b { display: inline-block; width: 9px; height: 9px; border-radius: 2px; margin: 0 4px 0 8px }
</style>{{$w := .W}}{{$h := .H}}{{range .Panels}}
<div class="panel" style="left:{{mul .GridPos.X $w}}px;top:{{mul .GridPos.Y $h}}px;width:{{mul .GridPos.W $w}}px;height:{{mul .GridPos.H $h}}px">
{{if eq .Type "row"}}<div class="row">{{.Title}}</div>{{else}}<div class="box"><h2>{{.Title}}</h2>
{{if eq .Type "stat"}}<div class="stat">{{.Last}}</div>{{else}}<div class="max">{{.Max}}</div>
<svg viewBox="0 0 1000 300" preserveAspectRatio="none">{{range .Lines}}<polyline points="{{.Points}}" fill="none" stroke="{{.Color}}"
stroke-width="2" vector-effect="non-scaling-stroke"/>{{end}}</svg>
<div class="legend">{{range .Lines}}<b style="background:{{.Color}}"></b>{{.Name}}{{end}}</div>{{end}}</div>{{end}}</div>{{end}}`))
