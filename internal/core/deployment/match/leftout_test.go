package match

import (
	"slices"
	"testing"
)

// TestUnion: what was left out before or after matching counts.
func TestUnion(t *testing.T) {
	for name, tc := range map[string]struct{ before, after, want LeftOut }{
		"none":                  {},
		"it came back":          {before: LeftOut{Names: []string{"a"}}, want: LeftOut{Names: []string{"a"}}},
		"it was lost":           {after: LeftOut{Names: []string{"a"}}, want: LeftOut{Names: []string{"a"}}},
		"the same":              {LeftOut{Names: []string{"a"}}, LeftOut{Names: []string{"a"}}, LeftOut{Names: []string{"a"}}},
		"one came, one went":    {LeftOut{Names: []string{"a"}}, LeftOut{Names: []string{"b"}}, LeftOut{Names: []string{"a", "b"}}},
		"the search has ended":  {before: LeftOut{Unknown: true}, want: LeftOut{Unknown: true}},
		"more than are named":   {LeftOut{Names: []string{"a", "b", "c", "d", "e"}}, LeftOut{Names: []string{"f"}}, LeftOut{Names: []string{"a", "b", "c", "d", "e"}, Others: 1}},
		"many more are unnamed": {LeftOut{Others: 7}, LeftOut{Others: 9}, LeftOut{Others: 9}},
	} {
		t.Run(name, func(t *testing.T) {
			got := tc.before.Union(tc.after)
			if !slices.Equal(got.Names, tc.want.Names) || got.Others != tc.want.Others || got.Unknown != tc.want.Unknown {
				t.Errorf("%+v, want %+v", got, tc.want)
			}
		})
	}
}
