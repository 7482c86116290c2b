package results

import (
	"cmp"
	"slices"
	"strings"

	"github.com/postflight-dev/postflight/internal/core/text/plaintext"
)

// file returns the file of the test. Playwright and Mocha name it as class or suite.
func (e *element) file() string {
	file := cmp.Or(e.attrs.Get("file"), e.suiteFile())
	if class := e.attrs.Get("classname"); file == "" && isSource(class) {
		file = class
	}
	for i := len(e.suites) - 1; i >= 0 && file == ""; i-- {
		if name := e.suites[i].Name; isSource(name) {
			file = name
		}
	}
	return plaintext.Line(file, maxFile)
}

// isSource reports whether a text is the path of a file with tests.
func isSource(text string) bool {
	dot := strings.LastIndexByte(text, '.')
	return dot > 0 && sourceExtension[text[dot+1:]] && !strings.ContainsAny(text, " \t\r\n\f")
}

var sourceExtension = map[string]bool{
	"js": true, "cjs": true, "mjs": true, "jsx": true, "cjsx": true, "mjsx": true,
	"ts": true, "cts": true, "mts": true, "tsx": true, "ctsx": true, "mtsx": true,
	"py": true, "rb": true, "php": true, "go": true, "rs": true, "java": true, "kt": true, "cs": true,
	"feature": true, "robot": true, "bats": true, "sh": true,
}

func (e *element) suiteFile() string {
	for _, s := range slices.Backward(e.suites) {
		if s.File != "" {
			return s.File
		}
	}
	return ""
}
