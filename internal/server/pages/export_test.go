package pages

import (
	"maps"
	"slices"
)

// Routes are the patterns of all routes.
func (u *UI) Routes() []string { return slices.Sorted(maps.Keys(u.routes())) }
