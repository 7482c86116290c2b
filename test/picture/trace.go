package picture

import (
	"cmp"
	"html/template"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/postflight-dev/postflight/test/otlp"
)

// bar is a span in the picture. Left and Width are percentages of the whole.
type bar struct {
	Name        string
	Depth       int
	Left, Width float64
	Took        time.Duration
}

const barHeight = 34

// Trace draws the spans of one trace, each below its parent.
func Trace(t testing.TB, file string, spans map[string]otlp.Span) {
	t.Helper()
	all := slices.SortedFunc(maps.Values(spans), func(a, b otlp.Span) int { return cmp.Or(a.Start.Compare(b.Start), a.End.Compare(b.End)) })
	begin, end := all[0].Start, all[0].End
	for _, s := range all {
		if s.End.After(end) {
			end = s.End
		}
	}
	whole := end.Sub(begin)
	var bars []bar
	var below func(parent string, depth int)
	below = func(parent string, depth int) {
		for _, s := range all {
			if s.Parent != parent {
				continue
			}
			took := s.End.Sub(s.Start)
			bars = append(bars, bar{s.Name, depth, percent(s.Start.Sub(begin), whole), percent(took, whole), took.Round(100 * time.Microsecond)})
			below(s.ID, depth+1)
		}
	}
	below(rootOf(all), 0)
	data := map[string]any{"Trace": all[0].Trace, "Took": whole.Round(time.Millisecond), "Spans": len(all), "Bars": bars}
	draw(t, file, tracePage, data, 1200, 110+barHeight*len(bars))
}

// rootOf returns the parent outside the trace: the span of the pipeline.
func rootOf(all []otlp.Span) string {
	for _, s := range all {
		if !slices.ContainsFunc(all, func(o otlp.Span) bool { return o.ID == s.Parent }) {
			return s.Parent
		}
	}
	return ""
}

func percent(part, whole time.Duration) float64 { return 100 * float64(part) / float64(whole) }

var tracePage = template.Must(template.New("").Parse(`<!doctype html><meta charset="utf-8"><style>
body { margin: 0; padding: 20px 24px; font: 14px system-ui, sans-serif; color: #1c2024; background: #fff }
h1 { font-size: 16px; margin: 0 0 4px } p { margin: 0 0 14px; color: #60646c }
.row { display: flex; height: 33px; align-items: center; border-top: 1px solid #e8e8ec }
.name { width: 340px; white-space: nowrap; box-sizing: border-box } .time { position: relative; flex: 1; height: 100% }
.bar { position: absolute; top: 9px; height: 15px; min-width: 3px; border-radius: 3px; background: #3e63dd }
.took { position: absolute; top: 8px; color: #60646c; font-size: 12px; white-space: nowrap } .in { color: #fff; right: 8px }
</style><h1>Trace {{.Trace}}</h1><p>{{.Spans}} spans in {{.Took}}</p>
{{range .Bars}}<div class="row"><div class="name" style="padding-left:calc({{.Depth}} * 20px)">{{.Name}}</div><div class="time">
<div class="bar" style="left:{{.Left}}%;width:{{.Width}}%"></div>
{{if gt .Width 50.0}}<div class="took in">{{.Took}}</div>{{else if lt .Left 50.0}}<div class="took"
style="left:calc({{.Left}}% + max(3px, {{.Width}}%) + 6px)">{{.Took}}</div>{{else}}<div class="took" style="right:calc(100% - {{.Left}}% + 6px)">{{.Took}}</div>{{end}}
</div></div>{{end}}`))
