package results

import (
	"errors"
	"io"

	"github.com/postflight-dev/postflight/internal/core/tests/junit"
	"github.com/postflight-dev/postflight/internal/core/text/mask"
	"github.com/postflight-dev/postflight/internal/core/text/plaintext"
)

type outcome uint8

const (
	passed outcome = iota
	flaky          // failed, was repeated, and passed
	failed
	skipped
)

type testCase struct {
	name         string
	suite, file  string // "": unknown
	line         int32  // 0: unknown
	outcome      outcome
	milliseconds int64
	retries      int32    // attempts before the last one
	failure      Failure  // if it failed
	outside      bool     // it is a failure of a suite
	identity     nameHash // tests of several suites may have one name; 0: it has none
}

func parse(report *junit.Reader, secrets mask.Values, emit func(testCase)) error {
	var open []*element // tests that have not ended
	for {
		t, err := report.Next()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case t.Role == junit.TestElement && t.Kind == junit.Start:
			open = append(open, newElement(t, open))
		case t.Role == junit.TestElement:
			last := len(open) - 1
			open[last].mask(secrets)
			emit(open[last].testCase())
			open = open[:last]
		case t.Missing > 0:
			emit(missingTest(t, secrets))
		case len(open) > 0:
			open[len(open)-1].token(t)
		}
	}
}

func missingTest(t junit.Token, secrets mask.Values) testCase {
	name, message := t.MissingTest()
	name = withoutSecrets(secrets, plaintext.Line(name, maxText), false)
	e := &element{}
	e.start(junit.Token{Name: "failure", Attrs: junit.Attrs{{Name: "message", Value: message}}})
	name = lineName(name)
	return testCase{name: name, outcome: failed, failure: e.failure(name), outside: true}
}
