package v1alpha1

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestIsOf(t *testing.T) {
	trigger := &Trigger{ObjectMeta: metav1.ObjectMeta{Name: "smoke", UID: "1"}}
	for name, tc := range map[string]struct {
		of      TriggerReference
		trigger *Trigger
		want    bool
	}{
		"its own":                   {TriggerReference{Name: "smoke", UID: "1"}, trigger, true},
		"one created again":         {TriggerReference{Name: "smoke", UID: "0"}, trigger, false},
		"any of the name":           {TriggerReference{Name: "smoke"}, trigger, true},
		"one of another name":       {TriggerReference{Name: "load", UID: "1"}, trigger, false},
		"one that does not exist":   {TriggerReference{Name: "smoke", UID: "1"}, nil, false},
		"none, and any of the name": {TriggerReference{Name: "smoke"}, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := &Suite{Spec: SuiteSpec{Trigger: tc.of}}
			if got := s.IsOf(tc.trigger); got != tc.want {
				t.Errorf("IsOf() = %t; want %t", got, tc.want)
			}
		})
	}
}
