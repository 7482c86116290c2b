package quarantine

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/hmarr/codeowners"

	"github.com/postflight-dev/postflight/internal/core/tests/quarantine"
)

// maxCodeOwners bounds the file in bytes. GitHub ignores larger ones.
const maxCodeOwners = 3 << 20

// gitlabPlace is where only GitLab looks.
const gitlabPlace = ".gitlab/CODEOWNERS"

// codeOwnersPlaces are where GitHub looks, in its order, and then where only GitLab looks. The first file counts.
var codeOwnersPlaces = []string{".github/CODEOWNERS", "CODEOWNERS", "docs/CODEOWNERS", gitlabPlace}

// owners are the rules of a CODEOWNERS file. The zero value knows none.
type owners struct {
	checkout string // a folder; "": the tests are not in one
	sections []section
}

// section is a part of a file of GitLab, which asks each section for its owners. A file of GitHub is one section.
type section struct {
	name, owners string // owners of rules that name none
	rules        []rule
}

type rule struct {
	pattern codeowners.Rule
	owners  string
	exclude bool
}

// findOwners reads a CODEOWNERS file. If none is named, it reads the file of the checkout that this process is in.
func findOwners(file string, note func(format string, args ...any)) (*owners, error) {
	o := &owners{checkout: checkout()}
	names := []string{file}
	if file == "" {
		names = nil
		for _, place := range codeOwnersPlaces {
			names = append(names, filepath.Join(o.checkout, filepath.FromSlash(place)))
		}
	}
	for _, name := range names {
		text, err := readBounded(name)
		if file == "" && errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read the owners of tests: %w", err)
		}
		if invalid := o.parse(text, strings.HasSuffix(filepath.ToSlash(name), gitlabPlace)); len(invalid) > 0 {
			note("Warning: these lines of %s are not valid, and are ignored: %s.", name, strings.Trim(fmt.Sprint(invalid), "[]"))
		}
		break
	}
	return o, nil
}

// checkout is the nearest folder that Git knows, from here upward, or else the current folder.
func checkout() string {
	here, err := os.Getwd()
	if err != nil {
		return ""
	}
	for folder := here; ; folder = filepath.Dir(folder) {
		if _, err := os.Stat(filepath.Join(folder, ".git")); err == nil {
			return folder
		}
		if folder == filepath.Dir(folder) {
			return here
		}
	}
}

func readBounded(name string) (string, error) {
	f, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxCodeOwners+1))
	if err == nil && len(text) > maxCodeOwners {
		err = fmt.Errorf("%s is larger than %d MiB: name another file with --codeowners", name, maxCodeOwners>>20)
	}
	return string(text), err
}

// heading begins a section in a file of GitLab, such as ^[Docs][2] @writers.
var heading = regexp.MustCompile(`^\^?\[([^\]]+)\](?:\[\d+\])?(?:\s+(.*))?$`)

// parse returns the numbers of lines that are not valid. Code hosts ignore these, too.
func (o *owners) parse(text string, gitlab bool) (invalid []int) {
	lines := strings.Split(text, "\n")
	for _, line := range lines {
		gitlab = gitlab || heading.MatchString(strings.TrimSpace(line))
	}
	at := o.section("")
	for i, line := range lines {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		if parts := heading.FindStringSubmatch(line); parts != nil {
			at = o.section(parts[1])
			o.sections[at].owners = strings.TrimSpace(withoutComment(parts[2]))
			continue
		}
		s := &o.sections[at]
		r, err := parseRule(line, s.owners, gitlab)
		if err != nil {
			invalid = append(invalid, i+1)
			continue
		}
		s.rules = append(s.rules, r)
	}
	return invalid
}

// section returns the index of a section. Sections of the same name are one, whatever its case.
func (o *owners) section(name string) int {
	for i, s := range o.sections {
		if strings.EqualFold(s.name, name) {
			return i
		}
	}
	o.sections = append(o.sections, section{name: name})
	return len(o.sections) - 1
}

func withoutComment(text string) string {
	text, _, _ = strings.Cut(text, "#")
	return text
}

// parseRule reads a line. For GitLab, a pattern that does not begin with a slash matches in all folders.
func parseRule(line, defaults string, gitlab bool) (r rule, err error) {
	if gitlab {
		line, r.exclude = strings.CutPrefix(line, "!")
		if !strings.HasPrefix(line, "/") && !strings.HasPrefix(line, "**") {
			line = "**/" + line
		}
	}
	anyOwner := codeowners.OwnerMatchFunc(func(text string) (codeowners.Owner, error) {
		return codeowners.Owner{Value: text, Type: codeowners.EmailOwner}, nil // GitLab has groups in groups, and roles
	})
	all, err := codeowners.ParseFile(strings.NewReader(line), codeowners.WithOwnerMatchers([]codeowners.OwnerMatcher{anyOwner}))
	if err != nil || len(all) != 1 || all[0].RawPattern() == "/" { // the library cannot match this one, and it names no file
		return rule{}, errors.Join(err, errNoRule)
	}
	r.pattern = all[0]
	var names []string
	for _, owner := range r.pattern.Owners {
		names = append(names, owner.String())
	}
	if r.owners = strings.Join(names, " "); r.owners == "" {
		r.owners = defaults
	}
	return r, nil
}

var errNoRule = errors.New("it is no rule")

// of returns the owners of a file of a report, or "". In each section, the last rule that matches counts.
func (o *owners) of(file string) string {
	name := o.inCheckout(file)
	if name == "" {
		return ""
	}
	var all []string
	for _, s := range o.sections {
		for i := len(s.rules) - 1; i >= 0; i-- {
			matches, err := s.rules[i].pattern.Match(name)
			if err != nil || !matches {
				continue
			}
			if r := s.rules[i]; r.owners != "" && !r.exclude {
				all = append(all, r.owners)
			}
			break
		}
	}
	return fitting(all)
}

// fitting returns the first owners that a Quarantine has room for, each once.
func fitting(all []string) (text string) {
	seen := map[string]bool{}
	for _, name := range strings.Fields(strings.Join(all, " ")) {
		longer := strings.TrimSpace(text + " " + name)
		if seen[name] || utf8.RuneCountInString(longer) > quarantine.MaxOwner {
			continue
		}
		seen[name], text = true, longer
	}
	return text
}

// inCheckout returns the path of a file below the checkout. Reports of another machine may have it below another folder: then the longest
// end of the path that exists here counts.
func (o *owners) inCheckout(file string) string {
	file = path.Clean("/" + strings.ReplaceAll(file, `\`, "/"))
	if strings.Contains(file, "\x00") || file == "/" {
		return ""
	}
	for rest := file[1:]; o.checkout != ""; {
		if info, err := os.Lstat(filepath.Join(o.checkout, filepath.FromSlash(rest))); err == nil && !info.IsDir() {
			return rest
		}
		_, after, more := strings.Cut(rest, "/")
		if !more {
			break
		}
		rest = after
	}
	return file[1:]
}
