package results

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/text/inputpath"
	"github.com/postflight-dev/postflight/internal/core/text/plaintext"
)

// Failure is a test that failed, with what a status has no room for.
type Failure struct {
	v1alpha1.TestFailure

	Text        string   `json:"text,omitempty"`        // of the failure in the report: its first 4 KiB
	TextCut     bool     `json:"textCut,omitempty"`     // the rest of the text is missing, or all of it
	Attachments []string `json:"attachments,omitempty"` // paths of files of the same pod
}

// Brief returns failures without details.
func Brief(all []Failure) []v1alpha1.TestFailure {
	brief := make([]v1alpha1.TestFailure, len(all))
	for i, f := range all {
		brief[i] = f.TestFailure
	}
	return brief
}

// attachment is how Playwright and the JUnit attachments of Jenkins name a file in the output of a test.
var attachment = regexp.MustCompile(`(?m)^[ \t]*\[\[ATTACHMENT\|([^\r\n]{1,512})\]\][ \t\r]*$`)

func (e *element) attach(output string) {
	if !strings.Contains(output, "[[ATTACHMENT|") {
		return
	}
	for _, found := range attachment.FindAllStringSubmatch(output, -1) {
		if len(e.attachments) < maxAttachments && !slices.Contains(e.attachments, found[1]) {
			e.attachments = append(e.attachments, found[1])
		}
	}
}

// locate makes paths below the results directory. It drops leading ../, because the report may have been copied there.
func (f *Failure) locate(report string) {
	for i, name := range f.Attachments {
		name = path.Join(path.Dir(report), strings.ReplaceAll(name, `\`, "/"))
		for strings.HasPrefix(name, "../") {
			name = strings.TrimPrefix(name, "../")
		}
		f.Attachments[i] = name
	}
}

// Detailed returns failures for a document: with the uploaded attachments, and as many details as fit.
func Detailed(all []Failure, files []File) []Failure {
	detailed := slices.Clone(all)
	room := maxDetails
	for i := range detailed {
		f := &detailed[i]
		f.Attachments = uploaded(f.Attachments, files)
		if need := len(f.Text) + len(strings.Join(f.Attachments, ",")); need > room {
			f.TextCut = f.TextCut || f.Text != ""
			f.Text, f.Attachments = "", nil
		} else {
			room -= need
		}
	}
	return detailed
}

func uploaded(attachments []string, files []File) (found []string) {
	for _, name := range attachments {
		if file := match(name, files); file != "" && !slices.Contains(found, file) {
			found = append(found, file)
		}
	}
	return found
}

// match returns the file that an attachment names, or "" if it is ambiguous. The end of a path suffices, because files may have been
// copied; a bare file name proves nothing.
func match(name string, files []File) string {
	above, below := "", ""
	several := false
	for _, f := range files {
		switch {
		case f.Path == name:
			return name
		case strings.HasSuffix(f.Path, "/"+name):
			several, below = below != "", f.Path
		case strings.HasSuffix(name, "/"+f.Path) && strings.Contains(f.Path, "/") && len(f.Path) > len(above):
			above = f.Path
		}
	}
	switch {
	case several:
		return ""
	case below != "":
		return below
	default:
		return above
	}
}

func cleanDetails(f Failure) Failure {
	text, cut := plaintext.Block(f.Text, maxBody)
	clean := Failure{TestFailure: cleanFailure(f.TestFailure), Text: text, TextCut: cut || f.TextCut}
	for _, name := range f.Attachments[:min(len(f.Attachments), maxAttachments)] {
		if inputpath.Check(name) == nil {
			clean.Attachments = append(clean.Attachments, name)
		}
	}
	return clean
}
