package notifications

import (
	"bytes"
	"io"
	"iter"
	"net/http"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/internal/core/deployment/match"
	"github.com/postflight-dev/postflight/internal/server/api/exchange"
)

// writeExplained writes explanations one by one: a large team's are tens of MB, which a slow client would keep in memory.
func writeExplained(w http.ResponseWriter, r *httpapi.NotificationResult, explanations iter.Seq[match.Explanation]) error {
	r.DryRun = true
	var head bytes.Buffer
	if err := exchange.Encoder(&head).Encode(r); err != nil {
		return err
	}
	exchange.BeginJSON(w, "application/json", http.StatusOK)
	_, _ = w.Write(append(bytes.TrimSuffix(head.Bytes(), []byte("}\n")), `,"explanations":[`...))
	separator := ""
	for e := range explanations {
		if err := writeExplanation(w, separator, e); err != nil {
			return nil // the client is gone
		}
		separator = ","
	}
	_, _ = io.WriteString(w, "]}\n")
	return nil
}

func writeExplanation(w io.Writer, separator string, e match.Explanation) error {
	if _, err := io.WriteString(w, separator); err != nil {
		return err
	}
	explained := httpapi.Explanation{TriggerID: e.Trigger.Name, Matched: e.Matched, Conditions: make([]httpapi.Condition, len(e.Criteria))}
	for i, c := range e.Criteria {
		explained.Conditions[i] = httpapi.Condition{Name: c.Name, Held: c.Held, Message: c.Message}
	}
	return exchange.Encoder(w).Encode(explained)
}
