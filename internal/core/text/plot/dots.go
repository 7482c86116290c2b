package plot

import "math"

// Dots are values beside each other.
type Dots struct {
	Height float64
	Dots   []Point
	Ticks  []Tick
}

// DotsOf draws durations in seconds, in a box of this height. Dots keep these distances to its upper and lower end.
func DotsOf(height, above, below float64, durations []float64) Dots {
	most := 0.0
	for _, s := range durations {
		most = max(most, known(s))
	}
	ticks := seconds(most)
	top := max(most, ticks[len(ticks)-1])
	y := func(v float64) float64 { return height - below - (height-above-below)*min(known(v), top)/top }
	d := Dots{Height: height}
	for _, t := range ticks {
		d.Ticks = append(d.Ticks, Tick{t, y(t)})
	}
	for i, s := range durations {
		d.Dots = append(d.Dots, Point{middle(i, len(durations)), y(s)})
	}
	return d
}

// Between returns the x between the dot of this index and the one before.
func (d Dots) Between(i int) float64 { return 100 * float64(i) / float64(max(len(d.Dots), 1)) }

// Share returns the length of a bar in percent. It grows with the square root, so that one of a thousand can be seen and compared; what
// draws it has to say so.
func Share(n, most int) float64 {
	if n <= 0 || most <= 0 {
		return 0
	}
	return min(100, max(leastShare, 100*math.Sqrt(float64(n)/float64(most))))
}

// leastShare is of a bar, in percent: 3 pixels of 200.
const leastShare = 1.5
