package results_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/postflight-dev/postflight/internal/core/tests/results"
	"github.com/postflight-dev/postflight/internal/core/text/mask"
)

// TestSecretsInReports: nothing that is read of a report has a secret of the run, neither for the status nor for the document.
func TestSecretsInReports(t *testing.T) {
	const secret = "correct<horse>&battery"
	const inXML = "correct&lt;horse>&amp;battery"
	report := `<testsuites name="` + inXML + `"><testsuite name="suite ` + inXML + `" file="` + inXML + `.ts">
		<testcase name="pays with ` + inXML + `"><failure message="got ` + inXML + `, want 200">at ` + inXML + `
			<![CDATA[` + secret + `]]></failure><system-out>[[ATTACHMENT|` + inXML + `.png]]
		</system-out></testcase><error message="` + inXML + `"/></testsuite></testsuites>`
	for at := range 20 { // where a text is cut, and an attribute
		long := strings.Repeat("x", 8<<10-at)
		report := `<testsuite><testcase name="a"><failure message="` + long + secret[:7] + `-and-more">` + long + secret[:7] + `-and-more</failure></testcase></testsuite>`
		tests := results.Tests{Secrets: mask.NewValues([]string{secret[:7] + "-and-more"})}
		if !tests.Add("x.xml", strings.NewReader(report)) || strings.Contains(tests.Failures[0].Text+tests.Failures[0].Message, "c") {
			t.Errorf("cut %d bytes after the beginning of a secret: %+v", at, tests.Failures[0])
		}
	}
	tests := results.Tests{Secrets: mask.NewValues([]string{secret})}
	if !tests.Add("x.xml", strings.NewReader(report)) || tests.Counts.Failed != 2 {
		t.Fatalf("%+v", tests.Counts)
	}
	said, err := json.Marshal(tests.Failures)
	if err != nil || strings.Contains(string(said), "horse") || tests.Failures[0].Name != "suite *** > pays with ***" || tests.Failures[0].Message != "got ***, want 200" {
		t.Errorf("%v, %s", err, said)
	}
}

// TestSecretsAreMaskedAsShown: what shows a text puts its parts together, and leaves out what cannot be seen.
func TestSecretsAreMaskedAsShown(t *testing.T) {
	for name, message := range map[string]string{
		"parts of a text":           `<failure><![CDATA[password abc]]]]><![CDATA[>def-hunter22]]></failure>`,
		"a comment in a text":       `<failure>at abc]]&gt;def<!-- -->-hunter22</failure>`,
		"an element in a text":      `<failure>at abc]]&gt;def<b>-hunter22</b></failure>`,
		"a color":                   "<failure message='abc]]>def-\x1b[31mhunter22'/>",
		"a color as pytest has it":  "<failure message='abc]]>def-#x1B[1m#x1B[31mhunter22'/>",
		"a character without width": `<failure message='abc]]&gt;def-&#x200b;hunter22'/>`,
		"the end of a long text":    `<failure message='` + strings.Repeat("\n", 8180) + `abc]]&gt;def-hunter22'/>`,
	} {
		t.Run(name, func(t *testing.T) {
			tests := results.Tests{Secrets: mask.NewValues([]string{"abc]]>def-hunter22"})}
			tests.Add("x.xml", strings.NewReader(`<testsuite><testcase name="a">`+message+`</testcase></testsuite>`))
			said, err := json.Marshal(tests.Failures)
			if err != nil || len(tests.Failures) != 1 || strings.Contains(string(said), "abc") || strings.Contains(string(said), "hunter") {
				t.Errorf("%v, %s", err, said)
			}
		})
	}
}

// TestSecretsDecideNothing: how a test did does not depend on what is masked.
func TestSecretsDecideNothing(t *testing.T) {
	tests := results.Tests{Secrets: mask.NewValues([]string{"disabled", "0000001"})}
	tests.Add("x.xml", strings.NewReader(`<testsuite failures="0000001"><testcase name="a" status="disabled"/></testsuite>`))
	if c := tests.Counts; c.Skipped != 1 || c.Failed != 1 {
		t.Errorf("%+v", c)
	}
}
