package insights

import (
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"
	"time"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/internal/core/tests/quarantine"
)

// quarantineOf returns a Quarantine of a test that fails, to complete and apply.
func quarantineOf(name string, place httpapi.TestInPlace, namespace string, now time.Time) string {
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(place.Trigger + "\n" + name)) // it never fails
	return fmt.Sprintf(`apiVersion: postflight.dev/v1alpha1
kind: Quarantine
metadata:
  name: %s-%08x
  namespace: %s
spec:
  triggers: [%s]
  environments: [%s]
  tests:
    - %s
  reason: %s
  owner: # who repairs it
  since: %s
  until: %s
`, place.Trigger, hash.Sum32(), namespace, place.Trigger, place.Environment, yamlString(name),
		yamlString("Fails since "+place.Failing.First.CreatedAt.UTC().Format("2 January 2006")+"."),
		yamlDay(now), yamlDay(now.Add(quarantine.SuggestedDays*day)))
}

func yamlDay(at time.Time) string { return yamlString(at.UTC().Format(time.DateOnly)) }

// yamlString quotes a text in a way that Go and YAML have in common.
func yamlString(text string) string {
	return strconv.Quote(strings.ToValidUTF8(text, "\uFFFD"))
}

// withoutStart drops the message from the text of a failure: the page says it once.
func withoutStart(text, message string) string {
	if text == message {
		return ""
	}
	if rest, found := strings.CutPrefix(text, message+"\n"); found && message != "" {
		return strings.TrimLeft(rest, "\n")
	}
	return text
}
