package main

import (
	"fmt"
	"strings"
)

// historyFile keeps the figures of each release.
const historyFile = "docs/figures.md"

// historyRow is the row of a release for the table of the history, whose heading names what it keeps: FIGURE key, and settings if
// several figures have this name.
func historyRow(page, release string, all []comparison) (string, error) {
	var heading string
	for line := range strings.Lines(page) {
		if strings.HasPrefix(line, "| Release |") {
			heading = line
		}
	}
	columns := strings.Split(strings.Trim(strings.TrimSpace(heading), "|"), "|")
	if len(columns) < 2 {
		return "", fmt.Errorf("%s has no table that begins with | Release |", historyFile)
	}
	row := "| " + release + " |"
	for _, column := range columns[1:] {
		cell := " –"
		for _, c := range all {
			if c.heads(strings.Fields(strings.Trim(strings.TrimSpace(column), "`"))) {
				cell = " " + c.cell()
			}
		}
		row += cell + " |"
	}
	return row, nil
}

// heads reports whether the words of a heading name this key.
func (c comparison) heads(words []string) bool {
	if len(words) < 2 || c.figure != words[0] || c.key != words[1] {
		return false
	}
	for _, setting := range words[2:] {
		if !strings.Contains(" "+c.setting+" ", " "+setting+" ") {
			return false
		}
	}
	return true
}

// cell has the new median, and how many times the base it is.
func (c comparison) cell() string {
	switch c.verdict {
	case gone:
		return "–"
	case added:
		return short(c.now)
	}
	return fmt.Sprintf("%s (%.2f)", short(c.now), c.spread.ratio)
}

// short is a number with four digits at least, where it has as many.
func short(v float64) string {
	if v >= 1000 || v == 0 {
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.4g", v)
}
