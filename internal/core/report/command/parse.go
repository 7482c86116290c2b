// Package command decides what comments on pull requests make Postflight do, and what it answers.
package command

import (
	"regexp"
	"slices"
	"strings"
)

const (
	maxBody = 256 << 10 // bytes; GitHub's comments have at most 65,536 characters, and people write no longer ones that are commands
	prefix  = "/postflight "
)

// Verb is what a command asks for.
type Verb string

// The verbs. Unknown stands for a command that cannot be read.
const (
	Rerun   Verb = "rerun"
	Cancel  Verb = "cancel"
	Status  Verb = "status"
	Unknown Verb = ""
)

// Command is what a comment asks for.
type Command struct {
	Verb    Verb
	Trigger string // whose runs are meant; empty: all
	Failed  bool   // of a rerun: only the failed tests
}

// triggerName matches names of Triggers.
var triggerName = regexp.MustCompile(`^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$`)

// Parse returns the command of a comment: its first line that begins with /postflight, unless readers see that line as code or as a quote,
// or do not see it.
func Parse(body string) (c Command, found bool) {
	if len(body) > maxBody {
		return c, false
	}
	var r reader
	for line := range strings.Lines(body) {
		line = strings.TrimRight(line, " \t\r\n")
		if r.isText(line) && strings.HasPrefix(line+" ", prefix) {
			return parse(strings.Fields(line)[1:]), true
		}
	}
	return c, false
}

func parse(words []string) Command {
	if len(words) == 0 {
		return Command{}
	}
	c := Command{Verb: Verb(words[0])}
	rest := words[1:]
	if c.Verb == Rerun {
		if i := slices.Index(rest, "--failed"); i >= 0 {
			c.Failed, rest = true, slices.Delete(slices.Clone(rest), i, i+1)
		}
	}
	switch {
	case c.Verb == Rerun && len(rest) == 1 && triggerName.MatchString(rest[0]):
		c.Trigger = rest[0]
	case len(rest) > 0, !slices.Contains([]Verb{Rerun, Cancel, Status}, c.Verb):
		return Command{}
	}
	return c
}

// reader follows Markdown as far as it hides a line, or shows it as the words of others.
type reader struct {
	fence  string // that ends the block of code; empty: none
	end    string // of the hidden or literal HTML; empty: none
	quoted bool   // the paragraph is a quote, which continues on lines without its sign
}

// isText reports whether the line is the author's own text.
func (r *reader) isText(line string) bool {
	text := strings.TrimLeft(line, " ")
	switch {
	case r.end != "":
		if strings.Contains(strings.ToLower(line), r.end) {
			r.end = ""
		}
		return false
	case r.fence != "":
		if strings.HasPrefix(text, r.fence) && strings.Trim(text, r.fence[:1]) == "" {
			r.fence = ""
		}
		return false
	case fenceOf(text) != "":
		r.fence, r.quoted = fenceOf(text), false
		return false
	case text == "":
		r.quoted = false
		return false
	case strings.HasPrefix(text, ">"):
		r.quoted = true
		return false
	}
	r.end = openHTML(line)
	return !r.quoted
}

// fenceOf returns the fence that a line opens, or "". GitLab also knows fences of three quote signs.
func fenceOf(text string) string {
	for _, sign := range []string{"`", "~", ">"} {
		if n := len(text) - len(strings.TrimLeft(text, sign)); n >= 3 && (sign != ">" || n == len(text)) {
			return text[:n]
		}
	}
	return ""
}

// htmlBegin matches what hides or quotes the lines after it.
var htmlBegin = regexp.MustCompile(`<!--|<(?:pre|code|blockquote|textarea|script|style)\b`)

// openHTML returns the end of the HTML that a line opens and does not close, or "".
func openHTML(line string) string {
	line = strings.ToLower(line)
	for {
		at := htmlBegin.FindStringIndex(line)
		if at == nil {
			return ""
		}
		end := "</" + line[at[0]+1:at[1]]
		if line[at[0]:at[1]] == "<!--" {
			end = "-->"
		}
		_, rest, closed := strings.Cut(line[at[1]:], end)
		if !closed {
			return end
		}
		line = rest
	}
}
