package results_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/postflight-dev/postflight/internal/mask"
	"github.com/postflight-dev/postflight/internal/results"
)

// TestSecretsInReports: nothing that is read of a report has a secret of the run, neither for the status nor for the document.
func TestSecretsInReports(t *testing.T) {
	const secret = "correct<horse>&battery"
	const inXML = "correct&lt;horse>&amp;battery"
	report := `<testsuites name="` + inXML + `"><testsuite name="suite ` + inXML + `" file="` + inXML + `.ts">
		<testcase name="pays with ` + inXML + `"><failure message="got ` + inXML + `, want 200">at ` + inXML + `
			<![CDATA[` + secret + `]]></failure><system-out>[[ATTACHMENT|` + inXML + `.png]]
		</system-out></testcase><error message="` + inXML + `"/></testsuite></testsuites>`
	tests := results.Tests{Secrets: mask.NewValues([]string{secret})}
	if !tests.Add("x.xml", strings.NewReader(report)) || tests.Counts.Failed != 2 {
		t.Fatalf("%+v", tests.Counts)
	}
	said, err := json.Marshal(tests.Failures)
	if err != nil || strings.Contains(string(said), "horse") || tests.Failures[0].Name != "suite *** > pays with ***" || tests.Failures[0].Message != "got ***, want 200" {
		t.Errorf("%v, %s", err, said)
	}
}
