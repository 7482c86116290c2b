package results

import (
	"slices"

	"github.com/postflight-dev/postflight/internal/core/tests/junit"
	"github.com/postflight-dev/postflight/internal/core/text/mask"
	"github.com/postflight-dev/postflight/internal/core/text/plaintext"
)

// mask masks secrets in the texts as they are shown: before that, a color or the border of two parts could split a secret.
func (e *element) mask(secrets mask.Values) {
	if len(secrets) == 0 {
		return
	}
	line := func(text string) string { return withoutSecrets(secrets, plaintext.Line(text, 2*maxText), e.cut) }
	block := func(text string) string {
		shown, _ := plaintext.Block(terminalCodes(text), 3*maxText)
		return withoutSecrets(secrets, shown, e.cut)
	}
	for i, attr := range e.attrs {
		if slices.Contains([]string{"name", "classname", "class", "file"}, attr.Name) {
			e.attrs[i].Value = line(attr.Value)
		}
	}
	e.suites = slices.Clone(e.suites)
	for i, s := range e.suites {
		e.suites[i] = junit.Suite{Name: line(s.Name), File: line(s.File)}
	}
	for i, path := range e.attachments {
		e.attachments[i] = line(path)
	}
	body := block(e.body.String())
	e.message = block(e.message)
	e.body.Reset()
	e.body.WriteString(body)
}

// nameMayBeCut is the length in bytes from which junit may have cut the name of a suite.
const nameMayBeCut = 256

// withoutSecrets also masks the beginning of a secret at the end of a cut text.
func withoutSecrets(secrets mask.Values, text string, cut bool) string {
	if cut || len(text) >= nameMayBeCut {
		return secrets.Beginning(text)
	}
	return secrets.Text(text)
}
