package replicas

import (
	"fmt"
	"testing"
)

// settled is how many rows pass until finished runs are deleted as fast as others arrive, and the heap has its size.
const settled = 2

// growing names what grows. It compares the median of the first half of the rows, without those at the beginning, with that
// of the second half, so that a single slow minute is no growth.
func growing(rows []row) (problems []string) {
	if len(rows) < settled+4 {
		return []string{fmt.Sprintf("%d rows are too few to see growth", len(rows))}
	}
	rows = rows[settled : len(rows)-1] // the last one is cut short
	first, second := rows[:len(rows)/2], rows[len(rows)/2:]
	for _, x := range []struct {
		name   string
		of     func(row) float64
		factor float64
		slack  float64
	}{
		{"memory in MiB", func(r row) float64 { return float64(r.rssMiB) }, 1.15, 5},
		{"goroutines", func(r row) float64 { return float64(r.goroutines) }, 1.15, 20},
		{"objects in etcd", func(r row) float64 { return float64(r.objects) }, 1.1, 50},
		{"median answer in ms", func(r row) float64 { return r.p50 }, 1.5, 5},
		{"99th percentile from a notification to its Job in ms", func(r row) float64 { return r.toJob }, 2, 100},
	} {
		before, after := median(first, x.of), median(second, x.of)
		if after > before*x.factor+x.slack {
			problems = append(problems, fmt.Sprintf("%s grew from %.0f to %.0f", x.name, before, after))
		}
	}
	return problems
}

func median(rows []row, of func(row) float64) float64 {
	var values []float64
	for _, r := range rows {
		values = append(values, of(r))
	}
	return quantile(values, .5)
}

func TestGrowing(t *testing.T) {
	steady := row{notifications: 1000, p50: 10, p99: 30, toJob: 100, rssMiB: 100, goroutines: 200, objects: 1000}
	slow := func(i int, r *row) {
		if i == 7 { // which counts, unlike the first ones and the last
			r.toJob = 5000
		}
	}
	cases := map[string]struct {
		change func(i int, r *row)
		want   int
	}{
		"nothing grows":                  {func(int, *row) {}, 0},
		"a minute is slow":               {slow, 0},
		"memory grows by 10% a minute":   {func(i int, r *row) { r.rssMiB += 10 * i }, 1},
		"objects are left":               {func(i int, r *row) { r.objects += 100 * i }, 1},
		"goroutines are left":            {func(i int, r *row) { r.goroutines += 20 * i }, 1},
		"answers and Jobs become slower": {func(i int, r *row) { r.p50 += 10 * float64(i); r.toJob += 100 * float64(i*i) }, 2},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			rows := make([]row, 10)
			for i := range rows {
				rows[i] = steady
				tc.change(i, &rows[i])
			}
			if got := growing(rows); len(got) != tc.want {
				t.Errorf("got %q, want %d problems", got, tc.want)
			}
		})
	}
}
