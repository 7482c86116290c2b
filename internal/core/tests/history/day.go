package history

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"github.com/postflight-dev/postflight/api/httpapi"
)

// Day is the summary of a day of a team, in UTC: its runs, and for each Trigger and Environment its tests.
type Day struct {
	Version int        `json:"version"`
	Team    string     `json:"team"`
	Day     string     `json:"day"`
	Runs    []Run      `json:"runs"` // that have ended, the oldest first
	Places  []PlaceDay `json:"places"`
}

const dayVersion = 1

// NewDay returns a summary, whatever the order of its parts was.
func NewDay(team, day string, runs []Run, places []PlaceDay) Day {
	d := Day{Version: dayVersion, Team: team, Day: day, Runs: []Run{}, Places: []PlaceDay{}}
	d.Runs = append(d.Runs, runs...)
	slices.SortFunc(d.Runs, func(a, b Run) int {
		return cmp.Or(strings.Compare(a.CreatedAt, b.CreatedAt), strings.Compare(a.ID, b.ID))
	})
	d.Places = append(d.Places, places...)
	slices.SortFunc(d.Places, func(a, b PlaceDay) int { return ComparePlaces(a.Place, b.Place) })
	return d
}

// ComparePlaces orders them by name.
func ComparePlaces(a, b httpapi.Place) int {
	return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Trigger, b.Trigger),
		strings.Compare(a.Environment, b.Environment))
}

// RunsOf returns the runs of a place whose tests are all known, the oldest first.
func (d *Day) RunsOf(p httpapi.Place) (all []Run) {
	for _, r := range d.Runs {
		if r.Place == p && r.Listed {
			all = append(all, r)
		}
	}
	return all
}

// PlacesWithTests returns the places that have such runs.
func (d *Day) PlacesWithTests() (all []httpapi.Place) {
	seen := map[httpapi.Place]bool{}
	for _, r := range d.Runs {
		if r.Listed && !seen[r.Place] {
			seen[r.Place] = true
			all = append(all, r.Place)
		}
	}
	slices.SortFunc(all, ComparePlaces)
	return all
}

// Unchanged returns a place of a summary if it has these runs, or nil.
func Unchanged(d *Day, place httpapi.Place, listed []Run) *PlaceDay {
	i := slices.IndexFunc(d.Places, func(p PlaceDay) bool { return p.Place == place })
	if i < 0 {
		return nil
	}
	p := &d.Places[i]
	_, chosen := NewPlaceBuilder(place, listed)
	same := slices.EqualFunc(p.Runs, chosen, func(id string, r Run) bool { return id == r.ID })
	if !same || p.Omitted != len(listed)-len(chosen) {
		return nil
	}
	return p
}

// Encode returns the content of the object of a day.
func (d *Day) Encode() []byte {
	var b bytes.Buffer
	packer := gzip.NewWriter(&b)
	encode(packer, d)
	_ = packer.Close() // writing into memory cannot fail
	return b.Bytes()
}

func hash(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:8])
}

func median[T int32 | int64](all []T) T {
	if len(all) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(all))
	return sorted[(len(sorted)-1)/2]
}

// IndexedDay is a day with its runs by id.
type IndexedDay struct {
	Day
	byID map[string]*Run
}

// Index returns the day with its runs by id, and in their families.
func (d Day) Index() *IndexedDay {
	SetFamilies(d.Runs)
	return &IndexedDay{Day: d, byID: byID(d.Runs)}
}

func byID(runs []Run) map[string]*Run {
	all := make(map[string]*Run, len(runs))
	for i := range runs {
		all[runs[i].ID] = &runs[i]
	}
	return all
}

// Place returns what the day has of a place, or nil.
func (d *IndexedDay) Place(place httpapi.Place) *PlaceDay {
	i := slices.IndexFunc(d.Places, func(p PlaceDay) bool { return p.Place == place })
	if i < 0 {
		return nil
	}
	return &d.Places[i]
}

// owns reports whether any run of a place is in the day. It drops rankings that others are in.
func (d *IndexedDay) owns(p *PlaceDay) bool {
	n := 0
	for _, id := range p.Runs {
		if d.byID[id] != nil {
			n++
		}
	}
	if n < len(p.Runs) {
		p.Failing, p.Slowest = nil, nil
	}
	return n > 0
}
