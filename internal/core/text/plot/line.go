package plot

// Value is a value of a line with its band, at a place of a row; nothing is known of it without Known.
type Value struct {
	Low, High float64
	Known     bool
}

// Point is a point of a line.
type Point struct{ X, Y float64 }

// Stretch is a part of a line without a gap: Low from the left to the right, High likewise, and Band around what is between.
type Stretch struct{ Low, High, Band []Point }

// Line is a line of low values with a band up to the high ones.
type Line struct {
	Height    float64
	Stretches []Stretch
	Ticks     []Tick
}

// widestGap is how many places without a value a line crosses: a long weekend.
const widestGap = 4

// LineOf draws durations in seconds, in a box of this height.
func LineOf(height float64, values []Value) Line {
	most := 0.0
	for _, v := range values {
		if v.Known {
			most = max(most, known(v.Low), known(v.High))
		}
	}
	ticks := seconds(most)
	top := max(most, ticks[len(ticks)-1])
	y := func(v float64) float64 { return height - height*min(known(v), top)/top }
	l := Line{Height: height}
	for _, t := range ticks {
		l.Ticks = append(l.Ticks, Tick{t, y(t)})
	}
	last := -1
	for i, v := range values {
		if !v.Known {
			continue
		}
		if last < 0 || i-last > widestGap {
			l.Stretches = append(l.Stretches, Stretch{})
		}
		last = i
		s, x := &l.Stretches[len(l.Stretches)-1], middle(i, len(values))
		s.Low = append(s.Low, Point{x, y(v.Low)})
		s.High = append(s.High, Point{x, y(max(known(v.Low), known(v.High)))})
	}
	for i := range l.Stretches {
		l.Stretches[i].close(100 / float64(max(len(values), 1)))
	}
	return l
}

// close makes a stretch of a single point as wide as its place, and draws the band.
func (s *Stretch) close(slot float64) {
	if len(s.Low) == 1 {
		s.Low, s.High = widened(s.Low[0], slot), widened(s.High[0], slot)
	}
	s.Band = append(s.Band, s.High...)
	for i := len(s.Low) - 1; i >= 0; i-- {
		s.Band = append(s.Band, s.Low[i])
	}
}

func widened(p Point, slot float64) []Point {
	return []Point{{max(0, p.X-slot/2), p.Y}, {min(100, p.X+slot/2), p.Y}}
}

// middle returns the middle of a place in a row of n.
func middle(i, n int) float64 { return 100 * (float64(i) + .5) / float64(n) }
