package match

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/deployment/notification"
)

// mixes are typical teams: the i-th Trigger of each, and a notification that matches a few of them.
var mixes = map[string]struct {
	trigger      func(i int) option
	notification *notification.Notification
	// triedPercent is how many of the Triggers may be tried at most.
	triedPercent int
}{
	"repositories": {
		trigger: func(i int) option {
			own := repositories(fmt.Sprintf("acme/repo-%d", i/4))
			switch i % 4 {
			case 0:
				return all(own, branches("main"))
			case 1:
				return all(own, branches("release/**", "!release/old"))
			case 2:
				return all(own, branches("feature/*-x"))
			}
			return all(own, expressionOf("notification.variables['region'] == 'eu'"))
		},
		notification: &notification.Notification{Branch: "main", Repository: "acme/repo-1", Variables: map[string]string{"region": "eu"}},
		triedPercent: 1,
	},
	"branches": {
		trigger: func(i int) option {
			switch {
			case i%20 == 0:
				return expressionOf(fmt.Sprintf("notification.variables['service'] == 'service-%d'", i))
			case i%20 == 1:
				return deploymentTypes(fmt.Sprintf("preview-%d", i))
			case i%20 < 6:
				return branches("release/**", fmt.Sprintf("!release/%d", i))
			case i%20 < 10:
				return branches(fmt.Sprintf("feature/*-%d", i))
			}
			return branches(fmt.Sprintf("service-%d", i))
		},
		notification: &notification.Notification{Branch: "feature/new-cart-7", DeploymentType: "staging", Variables: map[string]string{"service": "service-0"}},
		triedPercent: 25,
	},
	"one branch": {
		trigger: func(i int) option {
			return all(branches("main", "release/**"), deploymentTypes(fmt.Sprintf("service-%d", i)))
		},
		notification: &notification.Notification{Branch: "refs/heads/main", DeploymentType: "service-3"},
		triedPercent: 1,
	},
	"one branch and expressions": {
		trigger: func(i int) option {
			return all(branches("main", "release/**"), expressionOf(fmt.Sprintf("notification.variables['service'] == 'service-%d'", i)))
		},
		notification: &notification.Notification{Branch: "main", Variables: map[string]string{"service": "service-3"}},
		triedPercent: 1,
	},
	"expressions of every kind": {
		trigger: func(i int) option {
			return expressionOf(fmt.Sprintf("notification.branch.startsWith('service-%d/')", i))
		},
		notification: &notification.Notification{Branch: "service-3/next"},
		triedPercent: 100,
	},
	"expressions only": {
		trigger: func(i int) option {
			return expressionOf(fmt.Sprintf("notification.variables['service'] == 'service-%d'", i))
		},
		notification: &notification.Notification{Branch: "main", Variables: map[string]string{"service": "service-3"}},
		triedPercent: 1,
	},
}

// BenchmarkIndexMatch compares a team of 10,000 Triggers with one of 10: it may cost 2 ms more, apart from
// expressions that name no variable.
func BenchmarkIndexMatch(b *testing.B) {
	for name, mix := range mixes {
		for _, count := range []int{10, 10_000} {
			b.Run(fmt.Sprintf("%s/%d", name, count), func(b *testing.B) {
				x := filled(b, mix.trigger, count)
				deadline := time.Now().Add(time.Hour)
				stop := func() bool { return time.Now().After(deadline) }
				b.ReportAllocs()
				for b.Loop() {
					if matched, err := x.Match(namespace, mix.notification, stop); len(matched) == 0 || err != nil {
						b.Fatal("nothing matched", err)
					}
				}
			})
		}
	}
}

// filled holds Triggers as they come from the API server: decoded one by one, sharing no string.
func filled(b *testing.B, of func(i int) option, count int) *Index {
	b.Helper()
	x := &Index{}
	for i := range count {
		text, err := json.Marshal(trigger(fmt.Sprintf("t-%05d", i), of(i)))
		if err != nil {
			b.Fatal(err)
		}
		decoded := &v1alpha1.Trigger{}
		if err := json.Unmarshal(text, decoded); err != nil {
			b.Fatal(err)
		}
		x.Set(decoded)
	}
	for x.CompileNext() {
	}
	return x
}

func BenchmarkCompile(b *testing.B) {
	t := trigger("t", branches("main", "release/**"), expressionOf("notification.variables['region'] == 'eu' && notification.branch.startsWith('release/')"))
	for b.Loop() {
		if _, err := Compile(t); err != nil {
			b.Fatal(err)
		}
	}
}
