package schedule

import (
	"archive/zip"
	"fmt"
	"io/fs"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// changing are zones whose clocks change by an hour, by half an hour, at midnight, and in the other half of the year.
var changing = []string{"Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "America/Santiago", "Europe/London", "America/Havana"}

func timesOf(t *testing.T, cron, zone string) times {
	t.Helper()
	times, problem := parse(cronOf(cron, zone), "")
	if problem != "" {
		t.Fatal(problem)
	}
	return times
}

// embedded are zones of the data that images have: after its last change, it has a rule instead of changes. The data of machines may have
// changes of decades. Some clocks change often, by two hours, backwards in summer, or never.
var embedded = append([]string{"Europe/Dublin", "Africa/Casablanca", "Pacific/Apia", "Antarctica/Troll", "Asia/Gaza", "Asia/Tokyo", "UTC"},
	changing...)

// embeddedZone reads a zone as time/tzdata embeds it.
func embeddedZone(t *testing.T, name string) *time.Location {
	t.Helper()
	root, err := exec.Command("go", "env", "GOROOT").Output() // which a trimmed build does not know
	if err != nil {
		t.Fatal(err)
	}
	zones, err := zip.OpenReader(filepath.Join(strings.TrimSpace(string(root)), "lib/time/zoneinfo.zip"))
	if err != nil {
		t.Fatal(err)
	}
	defer zones.Close()
	data, err := fs.ReadFile(zones, name)
	if err != nil {
		t.Fatal(err)
	}
	zone, err := time.LoadLocationFromTZData(name, data)
	if err != nil {
		t.Fatal(err)
	}
	return zone
}

// TestOnceEachDayOfEmbeddedZones has a leap year, on whose last day the rule of a zone ends too early.
func TestOnceEachDayOfEmbeddedZones(t *testing.T) {
	for _, name := range embedded {
		t.Run(name, func(t *testing.T) {
			zone := embeddedZone(t, name)
			for minute := 0; minute < 24*60; minute += 30 {
				times := timesOf(t, fmt.Sprintf("%d %d * * *", minute%60, minute/60), "UTC")
				times.zone = zone
				at := time.Date(2025, 12, 31, 23, 59, 0, 0, zone)
				for day := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC); day.Year() < 2030; day = day.AddDate(0, 0, 1) {
					at = times.Next(at).In(zone)
					if got := at.Format(time.DateOnly); got != day.Format(time.DateOnly) {
						t.Fatalf("%02d:%02d: want the next time on %s, got %s", minute/60, minute%60, day.Format(time.DateOnly), at)
					}
				}
			}
		})
	}
}

// TestNewYearOfLeapYears: no clocks change around this New Year, so that the parser's times count.
func TestNewYearOfLeapYears(t *testing.T) {
	for _, name := range embedded {
		for _, cron := range []string{"*/30 * * * *", "30 2 * * *", "0 0 1 1 *", "0 12 29 2 *", "59 23 31 12 *"} {
			times := timesOf(t, cron, "UTC")
			times.zone = embeddedZone(t, name)
			for at := time.Date(2028, 12, 30, 0, 0, 0, 0, time.UTC); at.Year() < 2029 || at.YearDay() < 3; at = at.Add(30 * time.Minute) {
				next := times.Next(at)
				shown := clock(next.In(times.zone))
				if want := times.wall.Next(clock(at.In(times.zone))); !shown.Equal(want) {
					t.Fatalf("%s in %s: after %s comes %s, want %s", cron, name, at, shown, want)
				}
			}
		}
	}
}

// TestOnceEachDay has each quarter of an hour as a daily time, in years with changes of the clocks.
func TestOnceEachDay(t *testing.T) {
	for _, zone := range changing {
		t.Run(zone, func(t *testing.T) {
			for minute := 0; minute < 24*60; minute += 15 {
				times := timesOf(t, fmt.Sprintf("%d %d * * *", minute%60, minute/60), zone)
				at := time.Date(2025, 12, 31, 23, 59, 0, 0, times.zone)
				for day := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC); day.Year() < 2028; day = day.AddDate(0, 0, 1) {
					at = times.Next(at).In(times.zone)
					if got := at.Format(time.DateOnly); got != day.Format(time.DateOnly) {
						t.Fatalf("%02d:%02d: want the next time on %s, got %s", minute/60, minute%60, day.Format(time.DateOnly), at)
					}
				}
			}
		})
	}
}

// TestIntervals: an expression for every hour follows real time, whatever clocks show.
func TestIntervals(t *testing.T) {
	for _, zone := range changing {
		for cron, interval := range map[string]time.Duration{"*/15 * * * *": 15 * time.Minute, "*/30 */1 * * *": 30 * time.Minute} {
			times := timesOf(t, cron, zone)
			at := time.Date(2025, 12, 31, 23, 59, 59, 0, time.UTC)
			for at.Year() < 2028 {
				next := times.Next(at)
				if at.Second() == 0 && next.Sub(at) != interval {
					t.Fatalf("%s in %s: after %s comes %s", cron, zone, at, next)
				}
				at = next
			}
		}
	}
}

// TestWithoutChanges compares each expression with the parser's own times, in a zone whose clocks do not change.
func TestWithoutChanges(t *testing.T) {
	for _, cron := range []string{
		"0 3 * * *", "30 2 * * mon-fri", "*/15 * * * *", "5/20 */3 * * *", "0 0 1 * *", "0 0 31 * *", "0 0 29 2 *", "10 4 1,15 * fri",
		"0 12 * jan-mar,dec sun", "0 9-17/2 * * 1-5", "59 23 31 12 *", "0 0 */10 * ?", "7 7 7 7 *",
	} {
		times := timesOf(t, cron, "Asia/Tokyo")
		own := *times.wall
		own.Location = times.zone
		at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		for until := at.AddDate(1, 0, 0); !at.IsZero() && at.Before(until); {
			next, want := times.Next(at), own.Next(at)
			if !next.Equal(want) {
				t.Fatalf("%s: after %s comes %s, want %s", cron, at, next, want)
			}
			at = want
		}
	}
}
