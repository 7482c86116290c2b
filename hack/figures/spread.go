package main

import (
	"math"
	"slices"
)

// spread is the ratio of two series of runs: the median of the ratios of each run of one with each of the other, and what the true
// ratio may be.
//
// A comparison has 4 to 10 runs of each commit, whose times have long tails. So this trusts nothing but their order: if the
// commits were equal, each order of the runs would be as likely as any other (Mann and Whitney's test, and the interval that
// Moses derived from it). Means and deviations of so few runs would say more than is known, and one slow run would spoil them.
// Because base and new run in turns, a machine that slowly changes its speed widens the spread, and does not move it.
type spread struct{ ratio, low, high float64 }

// spreadOf leaves the true ratio to each side of the spread with a chance of at most doubt. With too few runs for so little doubt, the
// spread has no end.
func spreadOf(over, under []float64, doubt float64) spread {
	var ratios []float64
	for _, a := range over {
		for _, b := range under {
			ratios = append(ratios, ratio(a, b))
		}
	}
	slices.Sort(ratios)
	s := spread{ratio: median(ratios), high: math.Inf(1)}
	if end := outermost(len(over), len(under), doubt); end > 0 {
		s.low, s.high = ratios[end-1], ratios[len(ratios)-end]
	}
	return s
}

// inverse is the spread of the inverse ratio.
func (s spread) inverse() spread { return spread{1 / s.ratio, 1 / s.high, 1 / s.low} }

// ratio of two measurements, which may both be nothing.
func ratio(a, b float64) float64 {
	if a == b {
		return 1
	}
	return a / b
}

func median(sorted []float64) float64 {
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

func medianOf(values []float64) float64 { return median(slices.Sorted(slices.Values(values))) }

// outermost is the rank of the ratio at each end of a spread: 1 for the least and the greatest one, 0 for none.
func outermost(n, m int, doubt float64) (rank int) {
	orders := ordersOf(n, m)
	all, sum := 0.0, 0.0
	for _, count := range orders {
		all += count
	}
	for rank < len(orders) && sum+orders[rank] <= doubt*all {
		sum += orders[rank]
		rank++
	}
	return rank
}

// ordersOf counts the orders of n and m runs by how many of their pairs are the wrong way round. These are the coefficients of
// Gauss's binomial: the product of (1-q^(m+i))/(1-q^i) for i from 1 to n.
func ordersOf(n, m int) []float64 {
	counts := make([]float64, n*m+1)
	counts[0] = 1
	for i := 1; i <= n; i++ {
		for u := n * m; u >= m+i; u-- {
			counts[u] -= counts[u-m-i]
		}
		for u := i; u <= n*m; u++ {
			counts[u] += counts[u-i]
		}
	}
	return counts
}
