package failure

import (
	"cmp"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/internal/core/deployment/commit"
	"github.com/postflight-dev/postflight/internal/core/state"
	"github.com/postflight-dev/postflight/internal/core/text/plaintext"
)

// Markdown writes the document for people, and for programs that read like them. All texts of others are in code, where Markdown has no
// links, HTML, images and mentions. What does not fit in MaxBytes is named at the end.
func Markdown(f httpapi.Failure) string {
	test := strings.TrimSpace(f.Tested.Trigger + " " + f.Tested.Service)
	title := fmt.Sprintf("# %s: %s on %s\n\n", state.Of(f.State).Label, plaintext.CodeSpan(test, maxLine),
		plaintext.CodeSpan(f.Tested.Environment, maxLine))
	w := &writer{}
	w.add(title + Sentence(f.Summary) + "\n")
	w.list("What to do", f.Next, asItIs)
	w.failures(f.Tests)
	w.changes(f.Changed)
	w.list("What the cluster did", f.Cluster, Sentence)
	w.log(f.Log)
	w.tested(f)
	if w.leftOut {
		f.Omitted = append(f.Omitted, "Sections did not fit here; the JSON form and the page have them.")
	}
	w.room = reserve
	w.list("Left out", f.Omitted, Sentence)
	return w.String()
}

// Sentence is a sentence of a document as Markdown: it may quote names and output of tests.
func Sentence(text string) string { return plaintext.CodeSpan(text, maxSentence) }

// asItIs is for sentences of this package: beside words of its own, they have names that are DNS labels.
func asItIs(sentence string) string { return sentence }

const (
	maxSentence = 1024
	reserve     = 2 << 10 // for what was left out
)

// writer leaves out sections that do not fit.
type writer struct {
	strings.Builder
	room    int // more than MaxBytes-reserve that may be used
	leftOut bool
}

func (w *writer) add(section string) {
	if w.Len()+len(section) > MaxBytes-reserve+w.room {
		w.leftOut = true
		return
	}
	w.WriteString(section)
}

func (w *writer) list(title string, sentences []string, shown func(string) string) {
	if len(sentences) == 0 {
		return
	}
	w.add("\n## " + title + "\n\n")
	for _, s := range sentences {
		w.add("- " + shown(s) + "\n")
	}
}

func (w *writer) failures(t *httpapi.FailureTests) {
	if t == nil || len(t.Failures) == 0 {
		return
	}
	w.add(fmt.Sprintf("\n## %d of %s failed\n\n", t.Failed, plaintext.Count(t.Tests, "test")))
	for i, f := range t.Failures {
		w.add(fmt.Sprintf("%d. %s\n", i+1, failedTest(f)))
		if f.Text != "" {
			w.add("\n" + indent(plaintext.CodeBlock(f.Text)) + "\n")
		}
	}
	if more := int(t.Failed) - len(t.Failures); more > 0 {
		w.add(fmt.Sprintf("\nand %d more\n", more))
	}
}

func failedTest(f httpapi.FailedTest) string {
	var b strings.Builder
	switch {
	case f.Quarantine != "":
		b.WriteString("**Quarantined** by " + plaintext.CodeSpan(f.Quarantine, maxLine) + ": ")
	case f.ExpiredQuarantine != "":
		b.WriteString("**No longer quarantined** by " + plaintext.CodeSpan(f.ExpiredQuarantine, maxLine) + ", which has expired: ")
	case f.History != "":
		b.WriteString("**" + f.History + "**: ")
	}
	b.WriteString(cmp.Or(plaintext.CodeSpan(f.Name, maxLine), "a test without a name"))
	if f.File != "" {
		place := f.File
		if f.Line > 0 {
			place = fmt.Sprintf("%s:%d", f.File, f.Line)
		}
		b.WriteString(" in " + plaintext.CodeSpan(place, maxLine))
	}
	if f.Message != "" {
		b.WriteString(": " + plaintext.CodeSpan(f.Message, maxMessage))
	}
	for _, fact := range []string{failingSince(f.Since), flaky(f), files(f.Files)} {
		if fact != "" {
			b.WriteString("\n   - " + fact)
		}
	}
	return b.String()
}

func failingSince(s *httpapi.FailingSince) string {
	if s == nil {
		return ""
	}
	first := shortCommit(s.First.SHA, s.First.ID) + ", " + moment(s.First.CreatedAt)
	if s.Before == nil { // earlier runs may be beyond the days that are read
		return "It fails at least since " + first + "."
	}
	return "It fails since " + first + "; it passed before with " + shortCommit(s.Before.SHA, s.Before.ID) + compare(s.CompareURL) + "."
}

func flaky(f httpapi.FailedTest) string {
	if f.Flaky == 0 {
		return ""
	}
	return fmt.Sprintf("It was flaky in %s.", plaintext.Share(f.Flaky, f.Runs, "run"))
}

func files(all []httpapi.TestFile) string {
	var names []string
	for _, a := range all {
		names = append(names, plaintext.CodeSpan(a.Path, maxLine))
	}
	if len(names) == 0 {
		return ""
	}
	return "Files: " + strings.Join(names, ", ") + "."
}

func (w *writer) changes(c *httpapi.Changed) {
	if c == nil {
		return
	}
	w.add(fmt.Sprintf("\n## Changed since the last green run\n\nThe run %s of %s ended %s%s.\n\n", plaintext.CodeSpan(c.Run, maxLine),
		shortCommit(c.SHA, "an unknown commit"), moment(c.EndedAt), compare(c.CompareURL)))
	for _, p := range c.Parts {
		name := cmp.Or(plaintext.CodeSpan(strings.TrimSpace(p.Repository+" "+p.Service), maxLine), "The deployment")
		w.add(fmt.Sprintf("- %s: %s to %s, %s%s\n", name, shortCommit(p.From, "unknown"), shortCommit(p.To, "unknown"), moment(p.At),
			compare(p.CompareURL)))
	}
	if len(c.Parts) == 0 {
		w.add("Nothing else is known to have changed.\n")
	}
}

func (w *writer) log(l *httpapi.LogExcerpt) {
	if l == nil || len(l.Lines) == 0 {
		return
	}
	w.add(fmt.Sprintf("\n## Log of %s in %s, from line %d\n\n%s", plaintext.CodeSpan(l.Container, maxLine), plaintext.CodeSpan(l.Pod, maxLine),
		l.FirstLine, plaintext.CodeBlock(strings.Join(l.Lines, "\n"))))
}

func (w *writer) tested(f httpapi.Failure) {
	t := f.Tested
	w.add("\n## What was tested\n\n")
	for _, fact := range []struct{ name, value string }{
		{"Run", plaintext.CodeSpan(t.Namespace+"/"+f.Run, maxLine)},
		{"Commit", plaintext.CodeSpan(t.SHA, maxLine)}, {"Message", plaintext.CodeSpan(t.Message, maxLine)},
		{"Author", plaintext.CodeSpan(t.Author, maxLine)}, {"Branch", plaintext.CodeSpan(t.Branch, maxLine)},
		{"Repository", plaintext.CodeSpan(t.Repository, maxLine)}, {"Deployed at", plaintext.CodeSpan(t.URL, maxURL)},
		{"Asked for by", plaintext.CodeSpan(t.Origin, maxLine)}, {"Page", link(f.URL)},
	} {
		if fact.value != "" {
			w.add("- " + fact.name + ": " + fact.value + "\n")
		}
	}
}

func shortCommit(sha, otherwise string) string {
	return plaintext.CodeSpan(cmp.Or(commit.ShortSHA(sha), otherwise), maxLine)
}

func moment(t time.Time) string {
	if t.IsZero() {
		return "at an unknown time"
	}
	return t.UTC().Format("2006-01-02 15:04 UTC")
}

func compare(address string) string {
	if shown := link(address); shown != "" {
		return " (" + shown + ")"
	}
	return ""
}

// link writes an http(s) address that cannot end the link.
func link(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.User != nil ||
		strings.ContainsAny(address, "<>()`\\ \n\r\t") || len(address) > maxURL {
		return ""
	}
	return "<" + u.String() + ">"
}

func indent(text string) string {
	return "   " + strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n   ")
}
