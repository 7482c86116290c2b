package schedule

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

func cronOf(cron, zone string) *v1alpha1.TriggerSchedule {
	return &v1alpha1.TriggerSchedule{Cron: cron, TimeZone: zone}
}

func TestProblem(t *testing.T) {
	const invalid, often = "spec.schedule.cron is invalid", "Make that 5m at least"
	for name, tc := range map[string]struct{ cron, zone, want string }{
		"nightly":                         {"0 3 * * *", "", ""},
		"in a zone":                       {"0 3 * * *", "Europe/Berlin", ""},
		"in a zone of a fixed offset":     {"0 3 * * *", "Etc/GMT+5", ""},
		"UTC":                             {"0 3 * * *", "UTC", ""},
		"names of days":                   {"*/30 8-18 * jan-mar Mon,fri", "", ""},
		"spaces":                          {"  0  3 * * * ", "", ""},
		"every 5 minutes":                 {"*/5 * * * *", "", ""},
		"a zone that does not exist":      {"0 3 * * *", "Europe/Bielefeld", `there is no time zone "Europe/Bielefeld"`},
		"the zone of the machine":         {"0 3 * * *", "Local", `there is no time zone "Local"`},
		"a file":                          {"0 3 * * *", "../etc/passwd", "there is no time zone"},
		"a zone in the expression":        {"CRON_TZ=Europe/Berlin 0 3 * * *", "", "Write it into spec.schedule.timeZone"},
		"a zone without an expression":    {"TZ=UTC", "", "Write it into spec.schedule.timeZone"},
		"nothing":                         {"", "", invalid},
		"four fields":                     {"0 3 * *", "", invalid},
		"seconds":                         {"0 0 3 * * *", "", invalid},
		"a descriptor":                    {"@daily", "", invalid},
		"an interval":                     {"@every 1h", "", invalid},
		"minute 60":                       {"60 3 * * *", "", invalid},
		"Sunday as 7":                     {"0 3 * * 7", "", invalid},
		"a name of a month as a day":      {"0 3 * * jan", "", invalid},
		"a step of 0":                     {"*/0 3 * * *", "", invalid},
		"backwards":                       {"0 18-8 * * *", "", invalid},
		"a day that no month has":         {"0 3 31 2 *", "", "names no time of the next five years"},
		"a day of leap years":             {"0 3 29 2 *", "", ""},
		"an empty list":                   {"0 , * * *", "", "names no time of the next five years"},
		"every minute":                    {"* * * * *", "", "1m apart. " + often},
		"every 4 minutes":                 {"*/4 3 * * *", "", "4m apart. " + often},
		"4 minutes apart":                 {"10,14 3 * * *", "", "4m apart. " + often},
		"close across an hour":            {"2,58 * * * *", "", "4m apart. " + often},
		"close across hours of a list":    {"2,58 4,5 * * *", "", "4m apart. " + often},
		"not close in hours of a list":    {"2,58 3,5 * * *", "", ""},
		"close across midnight":           {"2,58 0,23 * * *", "", "4m apart. " + often},
		"several at a distance":           {"0,5,10,55 * * * *", "", ""},
		"a step that leaves 4 at the end": {"*/7 * * * *", "", "4m apart. " + often},
	} {
		t.Run(name, func(t *testing.T) {
			got := Problem(cronOf(tc.cron, tc.zone))
			if tc.want == "" && got != "" || !strings.Contains(got, tc.want) {
				t.Errorf("%q, want %q", got, tc.want)
			}
			if got != "" && (!strings.HasPrefix(got, "The schedule starts no runs, because ") || !strings.HasSuffix(got, ".") &&
				!strings.HasSuffix(got, "?")) {
				t.Errorf("%q is no sentence", got)
			}
		})
	}
	if got := Problem(nil); got != "" {
		t.Error(got)
	}
}

// TestTimes shows what the changes of clocks do, which docs/schedule.md says.
func TestTimes(t *testing.T) {
	for name, tc := range map[string]struct {
		reason     string
		cron, zone string
		from       string
		want       []string // in the zone
	}{
		"UTC": {"it has no changes", "0 3 * * *", "", "2026-03-28T12:00:00Z",
			[]string{"2026-03-29T03:00:00Z", "2026-03-30T03:00:00Z"}},
		"summer begins, outside": {"the time stays, and the day is shorter", "0 3 * * *", "Europe/Berlin", "2026-03-27T12:00:00Z",
			[]string{"2026-03-28T03:00:00+01:00", "2026-03-29T03:00:00+02:00", "2026-03-30T03:00:00+02:00"}},
		"summer begins, inside": {"there is no 02:30 on this day", "30 2 * * *", "Europe/Berlin", "2026-03-27T12:00:00Z",
			[]string{"2026-03-28T02:30:00+01:00", "2026-03-29T03:00:00+02:00", "2026-03-30T02:30:00+02:00"}},
		"summer begins, several inside": {"they come together", "0,20,40 2,3 * * *", "Europe/Berlin", "2026-03-29T00:00:00Z",
			[]string{"2026-03-29T03:00:00+02:00", "2026-03-29T03:20:00+02:00", "2026-03-29T03:40:00+02:00", "2026-03-30T02:00:00+02:00"}},
		"summer begins, hourly": {"an hour is an hour", "30 * * * *", "Europe/Berlin", "2026-03-29T00:00:00Z",
			[]string{"2026-03-29T01:30:00+01:00", "2026-03-29T03:30:00+02:00", "2026-03-29T04:30:00+02:00"}},
		"summer ends, outside": {"the time stays, and the day is longer", "0 4 * * *", "Europe/Berlin", "2026-10-24T12:00:00Z",
			[]string{"2026-10-25T04:00:00+01:00", "2026-10-26T04:00:00+01:00"}},
		"summer ends, inside": {"02:30 is there twice, and the first counts", "30 2 * * *", "Europe/Berlin", "2026-10-24T12:00:00Z",
			[]string{"2026-10-25T02:30:00+02:00", "2026-10-26T02:30:00+01:00"}},
		"summer ends, the manager starts between": {"the first has passed", "30 2 * * *", "Europe/Berlin", "2026-10-25T00:45:00Z",
			[]string{"2026-10-26T02:30:00+01:00"}},
		"summer ends, hourly": {"an hour is an hour", "30 * * * *", "Europe/Berlin", "2026-10-25T00:00:00Z",
			[]string{"2026-10-25T02:30:00+02:00", "2026-10-25T02:30:00+01:00", "2026-10-25T03:30:00+01:00"}},
		"midnight that is left out": {"the day begins at 01:00", "0 0 * * *", "America/Asuncion", "2023-09-30T12:00:00Z",
			[]string{"2023-10-01T01:00:00-03:00", "2023-10-02T00:00:00-03:00"}},
		"midnight that is left out, on a day of the week": {"it is this day", "0 0 * * sun", "America/Santiago", "2026-09-01T12:00:00Z",
			[]string{"2026-09-06T01:00:00-03:00", "2026-09-13T00:00:00-03:00"}},
		"hourly, on a day without midnight": {"it has 23 hours", "0 * * * sun", "America/Santiago", "2026-09-01T12:00:00Z",
			[]string{"2026-09-06T01:00:00-03:00", "2026-09-06T02:00:00-03:00"}},
		"half an hour": {"there are such changes", "15 2 * * *", "Australia/Lord_Howe", "2026-10-03T00:00:00Z",
			[]string{"2026-10-04T02:30:00+11:00", "2026-10-05T02:15:00+11:00"}},
		"a day that is left out": {"the next one begins", "0 3 * * *", "Pacific/Apia", "2011-12-29T22:00:00Z",
			[]string{"2011-12-31T00:00:00+14:00", "2011-12-31T03:00:00+14:00"}},
		"leap day": {"the next one", "0 3 29 2 *", "", "2026-01-01T00:00:00Z", []string{"2028-02-29T03:00:00Z"}},
		"days": {"either counts", "0 3 13 * fri", "", "2026-11-01T00:00:00Z",
			[]string{"2026-11-06T03:00:00Z", "2026-11-13T03:00:00Z", "2026-11-20T03:00:00Z"}},
		"at the time": {"it is not after itself", "0 3 * * *", "", "2026-11-01T03:00:00Z", []string{"2026-11-02T03:00:00Z"}},
	} {
		t.Run(name, func(t *testing.T) {
			times, problem := parse(cronOf(tc.cron, tc.zone), "")
			if problem != "" {
				t.Fatal(problem)
			}
			var got []string
			at := timeOf(tc.from)
			for range tc.want {
				at = times.Next(at)
				got = append(got, at.In(times.zone).Format(time.RFC3339))
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n%s", tc.reason, diff)
			}
		})
	}
}

func timeOf(text string) time.Time {
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		panic(err)
	}
	return at
}

// TestLast: of many missed times, the last one counts.
func TestLast(t *testing.T) {
	for name, tc := range map[string]struct{ cron, from, until, want string }{
		"none yet":              {"0 3 * * *", "2026-11-20T12:00:00Z", "2026-11-21T02:59:59Z", ""},
		"just now":              {"0 3 * * *", "2026-11-20T12:00:00Z", "2026-11-21T03:00:00Z", "2026-11-21T03:00:00Z"},
		"the one that has run":  {"0 3 * * *", "2026-11-21T03:00:00Z", "2026-11-21T03:00:01Z", ""},
		"an hour ago":           {"0 3 * * *", "2026-11-20T12:00:00Z", "2026-11-21T04:30:00Z", "2026-11-21T03:00:00Z"},
		"a day of hours":        {"0 * * * *", "2026-11-20T12:30:00Z", "2026-11-21T12:30:00Z", "2026-11-21T12:00:00Z"},
		"a year of minutes":     {"*/5 * * * *", "2025-11-20T12:00:00Z", "2026-11-20T12:02:00Z", "2026-11-20T12:00:00Z"},
		"long before":           {"0 3 1 1 *", "2025-06-01T00:00:00Z", "2026-11-20T12:00:00Z", "2026-01-01T03:00:00Z"},
		"before it was created": {"0 3 1 1 *", "2026-06-01T00:00:00Z", "2026-11-20T12:00:00Z", ""},
		"a clock that was set":  {"0 3 * * *", "2026-11-21T03:00:00Z", "2026-11-20T12:00:00Z", ""},
	} {
		t.Run(name, func(t *testing.T) {
			times, problem := parse(cronOf(tc.cron, ""), "")
			if problem != "" {
				t.Fatal(problem)
			}
			got := ""
			if last := times.last(timeOf(tc.from), timeOf(tc.until)); !last.IsZero() {
				got = last.Format(time.RFC3339)
			}
			if got != tc.want {
				t.Errorf("%s, want %s", got, tc.want)
			}
		})
	}
}

// TestJitter: it differs between Triggers, is within its bounds, and is the same each time.
func TestJitter(t *testing.T) {
	of := func(d time.Duration, uid types.UID) time.Duration {
		return jitter(&v1alpha1.TriggerSchedule{Jitter: &metav1.Duration{Duration: d}}, uid)
	}
	seen := map[time.Duration]bool{}
	for _, uid := range []types.UID{"a", "b", "c", "d", "e", "f", "g", "h"} {
		got := of(10*time.Minute, uid)
		if got < 0 || got >= 10*time.Minute || got != of(10*time.Minute, uid) {
			t.Errorf("%s: %s and %s", uid, got, of(10*time.Minute, uid))
		}
		seen[got] = true
	}
	if len(seen) < 6 {
		t.Errorf("eight Triggers have only %d delays", len(seen))
	}
	for _, d := range []time.Duration{0, 500 * time.Millisecond, time.Second} {
		if got := of(d, "a"); got != 0 {
			t.Errorf("%s within %s", got, d)
		}
	}
}
