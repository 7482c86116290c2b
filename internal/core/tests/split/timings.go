package split

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
)

// Timings are how long test files took in the last runs.
type Timings struct {
	Runs    []string         // that they come from, the newest first
	Files   map[string]int64 // milliseconds by file
	Omitted int              // how many more files there are, all of them faster
	Other   int64            // milliseconds of an omitted file, on average
	Problem string           // a sentence: why there are none; empty: there are, or there was no run before
}

// document is the file with Timings.
type document struct {
	Runs    []string           `json:"runs"`
	Seconds map[string]seconds `json:"seconds"`
	Omitted int                `json:"omitted,omitempty"`
	Other   seconds            `json:"omittedSeconds,omitempty"`
	Problem string             `json:"problem,omitempty"`
}

// seconds are milliseconds.
type seconds int64

// MarshalJSON writes 1.5 and not 1.500.
func (s seconds) MarshalJSON() ([]byte, error) {
	return strconv.AppendFloat(nil, float64(s)/1000, 'f', -1, 64), nil
}

// UnmarshalJSON reads any number that can be a time.
func (s *seconds) UnmarshalJSON(text []byte) error {
	f, err := strconv.ParseFloat(string(text), 64)
	if err != nil {
		return err
	}
	*s = seconds(bounded(math.Round(f * 1000)))
	return nil
}

func bounded[T int64 | float64](ms T) int64 { return int64(max(0, min(ms, maxTime))) }

// Encode returns the file with the Timings: the same bytes for the same Timings.
func (t Timings) Encode() []byte {
	d := document{Runs: t.Runs, Seconds: map[string]seconds{}, Omitted: t.Omitted, Other: seconds(t.Other), Problem: t.Problem}
	if d.Runs == nil {
		d.Runs = []string{} // never null
	}
	for name, ms := range t.Files {
		d.Seconds[name] = seconds(ms)
	}
	b, _ := json.MarshalIndent(d, "", " ") // cannot fail: strings and numbers
	return append(b, '\n')
}

// Parse reads the file with Timings. A file that was cut is an error: a part of them would be another split.
func Parse(content []byte) (Timings, error) {
	var d document
	if err := json.Unmarshal(content, &d); err != nil {
		return Timings{}, err
	}
	if d.Seconds == nil {
		return Timings{}, errors.New(`it has no member "seconds"`)
	}
	if len(d.Seconds) > maxFiles {
		return Timings{}, fmt.Errorf("it has more than %d files", maxFiles)
	}
	t := Timings{Runs: d.Runs, Files: make(map[string]int64, len(d.Seconds)), Omitted: max(0, d.Omitted), Other: int64(d.Other),
		Problem: d.Problem}
	for name, s := range d.Seconds {
		t.Files[name] = int64(s)
	}
	return t, nil
}

// Aggregate returns for each file the median of the runs that have it. The newest run is first; more than 5 do not count, and neither do
// runs without files.
func Aggregate(runs []*Run) Timings {
	t := Timings{Files: map[string]int64{}}
	all := map[string][]int64{}
	for _, r := range runs {
		files := r.files()
		if len(files) == 0 || len(t.Runs) == maxRuns {
			continue
		}
		t.Runs = append(t.Runs, r.name)
		for _, name := range slices.Sorted(maps.Keys(files)) { // the same ones, if there are too many
			if times, known := all[name]; known || len(all) < maxFiles {
				all[name] = append(times, files[name])
			}
		}
	}
	for name, times := range all {
		t.Files[name] = median(times)
	}
	return t
}

// median sorts its argument. It is 0 for none.
func median(all []int64) int64 {
	if len(all) == 0 {
		return 0
	}
	slices.Sort(all)
	middle := len(all) / 2
	if len(all)%2 == 1 {
		return all[middle]
	}
	return (all[middle-1] + all[middle]) / 2
}

// Fit omits the fastest files until the encoded Timings fit.
func (t Timings) Fit(fits func([]byte) bool) Timings {
	if len(t.Files) <= maxKept && fits(t.Encode()) {
		return t
	}
	slowest := slices.SortedFunc(maps.Keys(t.Files),
		func(a, b string) int { return cmp.Or(cmp.Compare(t.Files[b], t.Files[a]), cmp.Compare(a, b)) })
	least, most := 0, min(len(slowest), maxKept+1) // how many are kept: least fit, most do not
	for least+1 < most {
		if middle := (least + most) / 2; fits(t.keep(slowest, middle).Encode()) {
			least = middle
		} else {
			most = middle
		}
	}
	return t.keep(slowest, least)
}

func (t Timings) keep(slowest []string, n int) Timings {
	kept := t
	kept.Files = make(map[string]int64, n)
	var rest int64
	for i, name := range slowest {
		if i < n {
			kept.Files[name] = t.Files[name]
		} else {
			rest += t.Files[name]
		}
	}
	omitted := len(slowest) - n
	kept.Omitted, kept.Other = omitted+t.Omitted, rest/int64(max(1, omitted))
	return kept
}
