package main

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// reading is a value that one run of a benchmark printed.
type reading struct {
	id
	value float64
}

// id tells what a value is about. Values of two commits are compared if their ids are equal.
type id struct{ figure, setting, key string }

var (
	// A benchmark prints NAME key=value ...; testing has printed its name before, on the same line.
	figureLine = regexp.MustCompile(`\b([A-Z][A-Z0-9_]+)((?: [a-z][a-z_0-9]*=(?:"[^"\n]*"|\S+))+)`)
	figureKey  = regexp.MustCompile(` ([a-z][a-z_0-9]*)=("[^"\n]*"|\S+)`)
	// Other benchmarks leave it to testing: the name, how many calls, and pairs of a value and a unit.
	benchmarkLine = regexp.MustCompile(`(?m)^(Benchmark\S*?)(?:-\d+)?\s+\d+((?:\s+[0-9.e+]+ \S+)+)\s*$`)
)

// parse reads what a run printed. What testing measures counts only for benchmarks that print no figure: in the others, it
// includes the preparation.
func parse(output string) (all []reading) {
	for _, line := range figureLine.FindAllStringSubmatch(output, -1) {
		var settings []string
		var values []reading
		for _, pair := range figureKey.FindAllStringSubmatch(line[2], -1) {
			switch m := meaningOf(line[1], pair[1]); {
			case m == setting:
				settings = append(settings, pair[1]+"="+pair[2])
			case m != omitted && m != unknown:
				if v, ok := number(pair[2]); ok {
					values = append(values, reading{id{figure: line[1], key: pair[1]}, v})
				}
			}
		}
		for _, v := range values {
			v.setting = strings.Join(settings, " ")
			all = append(all, v)
		}
	}
	if len(all) > 0 {
		return all
	}
	for _, line := range benchmarkLine.FindAllStringSubmatch(output, -1) {
		for pair := range slices.Chunk(strings.Fields(line[2]), 2) {
			if m := meaningOf("", pair[1]); m != less && m != more {
				continue
			}
			if v, ok := number(pair[0]); ok {
				all = append(all, reading{id{figure: line[1], key: pair[1]}, v})
			}
		}
	}
	return all
}

// number reads a number, or a duration of Go as seconds.
func number(text string) (float64, bool) {
	if v, err := strconv.ParseFloat(text, 64); err == nil {
		return v, true
	}
	d, err := time.ParseDuration(text)
	return d.Seconds(), err == nil
}

// figureLines are the lines about figures in what a run printed.
func figureLines(output string) (text string) {
	for _, line := range append(figureLine.FindAllString(output, -1), benchmarkLine.FindAllString(output, -1)...) {
		text += line + "\n"
	}
	return text
}
