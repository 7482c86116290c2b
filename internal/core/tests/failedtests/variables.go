package failedtests

import (
	"regexp"
	"slices"
	"strings"

	"github.com/postflight-dev/postflight/internal/core/tests/results"
)

// The variables of a run that repeats only failed tests. Others lack them.
const (
	FileVariable       = "POSTFLIGHT_FAILED_TESTS"      // the path of a file with the names, each on a line
	PlaywrightVariable = "POSTFLIGHT_FAILED_PLAYWRIGHT" // a regular expression for --grep
	JestVariable       = "POSTFLIGHT_FAILED_JEST"       // a regular expression for -t, also of Vitest
	PytestVariable     = "POSTFLIGHT_FAILED_PYTEST"     // an expression for -k
	GoVariable         = "POSTFLIGHT_FAILED_GO"         // a regular expression for go test -run
	CypressVariable    = "POSTFLIGHT_FAILED_CYPRESS"    // files for --spec, with commas
)

// maxVariable bounds each variable, in bytes: a Job with the five of them in several containers has to fit into etcd.
const maxVariable = 16 << 10

// Variables returns the variables for runners. One is empty if the tests cannot be selected that way: then all tests have to run.
func Variables(tests []results.FailedTest) map[string]string {
	return map[string]string{
		PlaywrightVariable: joined(tests, playwright, "|"),
		JestVariable:       joined(tests, jest, "|"),
		PytestVariable:     joined(tests, pytest, " or "),
		GoVariable:         goRun(tests),
		CypressVariable:    joined(tests, cypress, ","),
	}
}

// Names returns the content of the file.
func Names(tests []results.FailedTest) string {
	var b strings.Builder
	for _, t := range tests {
		b.WriteString(t.Name + "\n")
	}
	return b.String()
}

// joined returns "" if the part of one test is not known, or if all are too long: a part of the tests would not be enough.
func joined(tests []results.FailedTest, part func(results.FailedTest) string, separator string) string {
	var parts []string
	for _, t := range tests {
		p := part(t)
		if p == "" {
			return ""
		}
		if !slices.Contains(parts, p) {
			parts = append(parts, p)
		}
	}
	text := strings.Join(parts, separator)
	if len(text) > maxVariable {
		return ""
	}
	return text
}

var (
	// numbered is what Postflight adds to the second test of a name. A test whose own name ends so matches, too.
	numbered = regexp.MustCompile(` \([0-9]+\)$`)

	spaces = regexp.MustCompile(`\s+`)
	file   = regexp.MustCompile(`^\S+\.[cm]?[jt]sx?$`)
)

// title splits a name into what reports join: the file or the class, groups, and the test. Nothing: its middle is missing.
func title(name string) []string {
	if strings.Contains(name, cut) {
		return nil
	}
	return strings.FieldsFunc(strings.NewReplacer(" > ", "\n", " › ", "\n").Replace(name), func(r rune) bool { return r == '\n' })
}

// cut replaces the middle of a name that was too long.
const cut = " … "

// expression matches the parts of a name with spaces between them.
func expression(parts []string) string {
	if len(parts) == 0 {
		return ""
	}
	text := strings.Join(parts, " ")
	base := numbered.ReplaceAllString(text, "")
	quoted := quote(base)
	if base != text {
		quoted += `( ` + regexp.QuoteMeta(strings.TrimSpace(text[len(base):])) + `)?`
	}
	return quoted
}

// quote matches a text, with any spaces.
func quote(text string) string {
	return spaces.ReplaceAllString(regexp.QuoteMeta(strings.TrimSpace(text)), `\s+`)
}

// project is where the reports of Playwright have it, with PLAYWRIGHT_JUNIT_INCLUDE_PROJECT_IN_TEST_NAME: before groups and title.
var project = regexp.MustCompile(`^\[([^\]]+)\] (.+)$`)

// playwright matches the project, the file, the groups, the title and the tags of a test, with spaces between them.
func playwright(t results.FailedTest) string {
	parts := title(t.Name)
	file, test, found := strings.Cut(t.Name, " > ")
	if parts == nil || !found {
		return words(expression(parts))
	}
	if m := project.FindStringSubmatch(test); m != nil { // which may also be the beginning of a title
		before := `(` + quote(m[1]+" "+file) + `|` + quote(file+" ["+m[1]+"]") + `)\s+`
		return words(before + expression(strings.Split(m[2], " › ")))
	}
	return words(expression(append([]string{file}, strings.Split(test, " › ")...))) // titles may have the other separator
}

// words does not match a part of a word.
func words(expression string) string {
	if expression == "" {
		return ""
	}
	return `(^|\s)` + expression + `(\s|$)`
}

// jest matches groups and title, with spaces between them, but not the file.
func jest(t results.FailedTest) string {
	parts := title(t.Name)
	if len(parts) > 1 && file.MatchString(parts[0]) {
		parts = parts[1:]
	}
	if e := expression(parts); e != "" {
		return "^" + e + "$"
	}
	return ""
}

// identifier is what all versions of pytest accept in an expression for -k.
var identifier = regexp.MustCompile(`^[\p{L}\p{N}_:+\-.\[\]]+`)

// pytest matches a part of the name of the test, and of its class or file. Parameters that an expression cannot have are left out: then
// the test runs with all of them.
func pytest(t results.FailedTest) string {
	class, name, ok := strings.Cut(t.Name, " > ")
	if !ok || strings.Contains(t.Name, cut) {
		return ""
	}
	base := numbered.ReplaceAllString(name, "")
	ident := identifier.FindString(base)
	if ident != base {
		ident, _, _ = strings.Cut(ident, "[")
	}
	class = class[strings.LastIndexByte(class, '.')+1:]
	if !usable(ident) || !usable(class) || identifier.FindString(class) != class {
		return ""
	}
	return "(" + class + " and " + ident + ")"
}

func usable(ident string) bool {
	return ident != "" && !slices.Contains([]string{"and", "or", "not", "true", "false", "none"}, strings.ToLower(ident))
}

// goRun leaves out tests with a failed subtest, because they run with it.
func goRun(tests []results.FailedTest) string {
	var names []string
	for _, t := range tests {
		name := goTest(t)
		if name == "" {
			return ""
		}
		names = append(names, name)
	}
	var parts []results.FailedTest
	for _, name := range names {
		if !slices.ContainsFunc(names, func(other string) bool { return strings.HasPrefix(other, name+"/") }) {
			parts = append(parts, results.FailedTest{Name: name})
		}
	}
	return joined(parts, func(t results.FailedTest) string {
		levels := strings.Split(regexp.QuoteMeta(t.Name), "/")
		return "^" + strings.Join(levels, "$/^") + "$"
	}, "|")
}

var goName = regexp.MustCompile(`^(Test|Example|Fuzz)\S*$`)

// goTest returns the name without its package, or "" if it is none of a test, such as of a package that did not compile.
func goTest(t results.FailedTest) string {
	name := numbered.ReplaceAllString(t.Name[strings.LastIndex(t.Name, " > ")+1:], "")
	if name = strings.TrimPrefix(name, "> "); !goName.MatchString(name) || strings.Contains(name, cut) {
		return ""
	}
	return name
}

// spec is the path of a test file of Cypress that means only itself: it takes patterns, and commas between them.
var spec = regexp.MustCompile(`^[^,*?{}\[\]()!+@\\]+\.[cm]?[jt]sx?$`)

func cypress(t results.FailedTest) string {
	if !spec.MatchString(t.File) {
		return ""
	}
	return t.File
}
