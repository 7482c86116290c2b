package match

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/httpapi"
	"github.com/postflight-dev/postflight/api/v1alpha1"
)

// ExplanationOf is what another Postflight says about a Trigger of its own. Of that, only the name is known.
func ExplanationOf(said httpapi.Explanation) Explanation {
	e := Explanation{Trigger: &v1alpha1.Trigger{ObjectMeta: metav1.ObjectMeta{Name: said.TriggerID}}, Matched: said.Matched}
	for _, c := range said.Conditions {
		e.Criteria = append(e.Criteria, CriterionResult{Name: c.Name, Held: c.Held, Message: c.Message})
	}
	return e
}
