package logtext

import (
	"bytes"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// TestPlace finds the line of a failed test in a log: the one with most parts of its name, which tools write in many ways.
type TestPlace struct {
	parts []string
	last  []byte // part of the name, without which a line does not count

	Line  int // of the best place so far; 0: there is none
	score int
}

var (
	nameSeparator = regexp.MustCompile(`\s+[›>»❯]\s+`)
	wordSeparator = regexp.MustCompile(`::|[.#/]`)
	numbered      = regexp.MustCompile(` \(\d+\)$`)

	// failing matches how reports of tools mark a failed test, anywhere in its line.
	failing = regexp.MustCompile(`(?i)\b(?:fail(?:ed|ure|s)?|error|not ok)\b|[✗✘×✕❌]`)
)

// A name comes with the address of a page, and each line is compared with each of its parts, so both are bounded. Few names have more than
// five parts, and the last ones say most.
const (
	MaxTestName  = 512
	maxTestParts = 16
)

// minPart is the length from which a part of a name says enough, in bytes.
const minPart = 3

// TestPlaceOf looks for the test of this name.
func TestPlaceOf(name string) *TestPlace {
	name = numbered.ReplaceAllString(strings.TrimSpace(strings.ToValidUTF8(name[max(0, len(name)-MaxTestName):], "")), "")
	parts := nameSeparator.Split(name, -1)
	if last := parts[len(parts)-1]; !strings.ContainsRune(last, ' ') { // an identifier
		parts = append(parts[:len(parts)-1], wordSeparator.Split(last, -1)...)
	}
	p := &TestPlace{}
	for _, part := range parts {
		if part = strings.TrimSpace(part); len(part) >= minPart && strings.ContainsFunc(part, isWordRune) {
			p.parts = append(p.parts, part)
		}
	}
	p.parts = p.parts[max(0, len(p.parts)-maxTestParts):]
	if len(p.parts) > 0 {
		p.last = []byte(p.parts[len(p.parts)-1])
	}
	return p
}

// Text returns what to search for if there is no place: the last part of the name.
func (p *TestPlace) Text() string { return string(p.last) }

// Look takes the next line.
func (p *TestPlace) Look(number int, line []byte) {
	if len(p.last) == 0 || !bytes.Contains(line, p.last) {
		return
	}
	if score := p.rate(PlainText(line)); score > p.score {
		p.Line, p.score = number, score
	}
}

// rate counts the parts of the name. A failure in the line counts most.
func (p *TestPlace) rate(text string) int {
	if !hasWord(text, string(p.last)) {
		return 0
	}
	score := 1
	for _, part := range p.parts[:len(p.parts)-1] {
		if strings.Contains(text, part) {
			score++
		}
	}
	if failing.MatchString(text) {
		score += len(p.parts) + 1
	}
	return score
}

func hasWord(text, word string) bool {
	for start := 0; ; {
		i := strings.Index(text[start:], word)
		if i < 0 {
			return false
		}
		i += start
		before, _ := utf8.DecodeLastRuneInString(text[:i])
		after, _ := utf8.DecodeRuneInString(text[i+len(word):])
		if !isWordRune(before) && !isWordRune(after) {
			return true
		}
		start = i + len(word)
	}
}

func isWordRune(r rune) bool {
	return r == '_' || r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r))
}
