package plot

// Stack is what a bar consists of: parts above the axis, from the axis upwards, and below it, downwards.
type Stack struct{ Up, Down []int }

// Segment is a part of a bar.
type Segment struct {
	Part     int  // index in Up or Down
	Below    bool // the axis
	X, Width float64
	Y        float64
	Height   float64
}

// Bars are stacks beside each other.
type Bars struct {
	Height float64
	Axis   float64     // y of it
	Bars   [][]Segment // of each stack
	Ticks  []Tick      // above the axis
	Slot   float64     // width of a stack with its gap
}

const (
	leastBar = 3.0 // pixels: one failure in a thousand runs is still seen
	barShare = .76 // of its slot; the rest is the gap
)

// BarsOf draws stacks in a box of this height. Both sides have one scale, and no part is lower than 3 pixels.
func BarsOf(height float64, stacks []Stack) Bars {
	var up, down, parts float64
	for _, s := range stacks {
		up, down = max(up, total(s.Up)), max(down, total(s.Down))
		parts = max(parts, float64(len(s.Up)+len(s.Down)))
	}
	ticks := counts(up)
	if up == 0 {
		ticks = nil
	}
	unit := 0.0
	if up+down > 0 {
		unit = max(0, height-parts*leastBar) / (up + down)
	}
	b := Bars{Height: height, Axis: height}
	if down > 0 || up == 0 {
		b.Axis = height - unit*down - leastBar*mostParts(stacks)
	}
	for _, t := range ticks[min(1, len(ticks)):] {
		b.Ticks = append(b.Ticks, Tick{t, b.Axis - t*unit})
	}
	if len(stacks) > 0 {
		b.Slot = 100 / float64(len(stacks))
	}
	for i, s := range stacks {
		b.Bars = append(b.Bars, b.segments(i, s, unit))
	}
	return b
}

// mostParts returns how many parts below the axis a stack has at most.
func mostParts(stacks []Stack) (most float64) {
	for _, s := range stacks {
		n := 0.0
		for _, part := range s.Down {
			if part > 0 {
				n++
			}
		}
		most = max(most, n)
	}
	return most
}

func (b *Bars) segments(i int, s Stack, unit float64) (all []Segment) {
	add := func(y float64, parts []int, below bool) {
		for part, n := range parts {
			if n <= 0 {
				continue
			}
			seg := Segment{Part: part, Below: below, X: (float64(i) + (1-barShare)/2) * b.Slot, Width: barShare * b.Slot}
			seg.Height = max(leastBar, known(float64(n))*unit)
			if seg.Y = y; below {
				y += seg.Height
			} else {
				y -= seg.Height
				seg.Y = y
			}
			all = append(all, seg)
		}
	}
	add(b.Axis, s.Up, false)
	add(b.Axis, s.Down, true)
	return all
}

func total(parts []int) (sum float64) {
	for _, n := range parts {
		sum += known(float64(n))
	}
	return sum
}
