package main

import (
	"bytes"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// tableFile lists the benchmarks that print figures, one to a line.
const tableFile = "hack/figures.txt"

// row is a line of the table: benchmarks that one process runs.
type row struct {
	folder     string // of the package
	benchmarks string // a pattern for -test.bench
	benchtime  string
	expected   time.Duration // of one run, about
	when       string        // change, night or hand
}

// name is short, for people and for the choice of figures.
func (r row) name() string { return r.folder + " " + r.benchmarks }

func readTable() ([]row, error) {
	text, err := os.ReadFile(tableFile)
	if err != nil {
		return nil, err
	}
	return parseTable(string(text))
}

func parseTable(text string) (all []row, err error) {
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) == 0 || fields[0] == "#" {
			continue
		}
		if len(fields) != 5 {
			return nil, fmt.Errorf("%s: %q has not five columns", tableFile, strings.TrimSpace(line))
		}
		seconds, err := strconv.Atoi(fields[3])
		if err != nil {
			return nil, fmt.Errorf("%s: seconds: %w", tableFile, err)
		}
		if fields[4] != "change" && fields[4] != "night" && fields[4] != "hand" {
			return nil, fmt.Errorf("%s: %q is not change, night or hand", tableFile, fields[4])
		}
		all = append(all, row{fields[0], fields[1], fields[2], time.Duration(seconds) * time.Second, fields[4]})
	}
	return all, nil
}

// choice of rows of the table.
type choice struct {
	pattern *regexp.Regexp
	when    string // change: only these rows; night: also those; hand: all
}

func (c choice) of(table []row) (chosen []row) {
	tiers := map[string][]string{"change": {"change"}, "night": {"change", "night"}, "hand": {"change", "night", "hand"}}
	for _, r := range table {
		for _, when := range tiers[c.when] {
			if r.when == when && c.pattern.MatchString(r.name()) {
				chosen = append(chosen, r)
			}
		}
	}
	return chosen
}

// lines of the output of a command.
func lines(output []byte) []string {
	return strings.FieldsFunc(string(bytes.TrimSpace(output)), func(r rune) bool { return r == '\n' })
}
