package match

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/postflight-dev/postflight/internal/core/deployment/notification"
	"github.com/postflight-dev/postflight/test/tier"
)

func TestJudge(t *testing.T) {
	n := notification.Notification{Branch: "main", Variables: map[string]string{"region": "eu"}}
	for reason, tc := range map[string]struct {
		option option
		want   Verdict
	}{
		"no condition reads a variable":             {branches("main"), Yes},
		"another condition decides":                 {all(branches("x"), expressionOf("notification.variables.TOKEN == 'a'")), No},
		"a known value":                             {expressionOf("notification.variables.region == 'eu'"), Yes},
		"another known value":                       {expressionOf("notification.variables.region == 'us'"), No},
		"a withheld value":                          {expressionOf("notification.variables.TOKEN == 'a'"), Unknown},
		"from the right":                            {expressionOf("'a' != notification.variables['TOKEN']"), Unknown},
		"in a function":                             {expressionOf("notification.variables.TOKEN.startsWith('a')"), Unknown},
		"in a pattern":                              {expressionOf("notification.variables.TOKEN.matches('^a')"), Unknown},
		"converted":                                 {expressionOf("int(notification.variables.TOKEN) > 3"), Unknown},
		"in a list":                                 {expressionOf("notification.variables.TOKEN in ['a', 'b']"), Unknown},
		"of a list":                                 {expressionOf("'a' in [notification.variables.TOKEN]"), Unknown},
		"optional":                                  {expressionOf("notification.variables[?'TOKEN'].orValue('a') == 'a'"), Unknown},
		"only its name":                             {expressionOf("'TOKEN' in notification.variables"), Yes},
		"how many there are":                        {expressionOf("notification.variables.size() == 3"), Yes},
		"a missing name":                            {expressionOf("'OTHER' in notification.variables"), No},
		"a missing value":                           {expressionOf("notification.variables.OTHER == 'a'"), No},
		"a known value decides the and":             {expressionOf("notification.variables.TOKEN == 'a' && notification.variables.region == 'us'"), No},
		"a known value decides the or":              {expressionOf("notification.variables.TOKEN == 'a' || notification.variables.region == 'eu'"), Yes},
		"nothing decides the and":                   {expressionOf("notification.variables.TOKEN == 'a' && notification.variables.region == 'eu'"), Unknown},
		"a loop over names":                         {expressionOf("notification.variables.exists(k, k == 'TOKEN')"), Yes},
		"a loop over values, one of which is found": {expressionOf("notification.variables.exists(k, notification.variables[k] == 'eu')"), Yes},
		"a loop over values, none of which is known to be":  {expressionOf("notification.variables.exists(k, notification.variables[k] == 'us')"), Unknown},
		"a condition that is chosen by a value":             {expressionOf("notification.variables.TOKEN == 'a' ? true : false"), Unknown},
		"the whole map, which is never known to be equal":   {expressionOf("notification.variables == {'region': 'eu', 'TOKEN': 'a', 'OTHER_TOKEN': 'a'}"), Unknown},
		"the whole map from the right, which seems equal":   {expressionOf("{'region': 'eu', 'TOKEN': 'a', 'OTHER_TOKEN': 'a'} == notification.variables"), Unknown},
		"a map of another size, which CEL does not look at": {expressionOf("{'region': 'eu'} == notification.variables"), No},
		"a part that fails for want of another value":       {expressionOf("notification.variables.TOKEN == notification.variables.OTHER"), Unknown},
		"paused": {all(paused, expressionOf("notification.variables.TOKEN == 'a'")), No},
	} {
		t.Run(reason, func(t *testing.T) {
			m, err := Compile(trigger("t", tc.option))
			if err != nil {
				t.Fatal(err)
			}
			got := m.Judge(&n, []string{"OTHER_TOKEN", "TOKEN"})
			if got.Verdict != tc.want || len(got.Reads) > 0 != (got.Verdict == Unknown) {
				t.Errorf("got %+v, want %d", got, tc.want)
			}
		})
	}
}

// TestJudgeAgreesWithMatches: whatever the value was that is withheld, a verdict that is not Unknown is what Matches says.
func TestJudgeAgreesWithMatches(t *testing.T) {
	tier.PinRapid(t)
	rapid.Check(t, func(t *rapid.T) {
		drawn, n := anyTrigger([]string{"a"}).Draw(t, "trigger"), anyNotification.Draw(t, "notification")
		m, err := Compile(drawn)
		if err != nil {
			return
		}
		if got := m.Judge(n, nil).Verdict; got != verdictOf(m.Matches(n)) {
			t.Fatalf("with all variables: %d, and Matches says %t", got, m.Matches(n))
		}
		known := *n
		known.Variables = map[string]string{}
		var names []string
		for name, value := range n.Variables {
			if name == "a" {
				names = append(names, name)
			} else {
				known.Variables[name] = value
			}
		}
		if got := m.Judge(&known, names).Verdict; got != Unknown && got != verdictOf(m.Matches(n)) {
			t.Errorf("without a: %d, and Matches says %t", got, m.Matches(n))
		}
	})
}

// TestJudgeSaysWhatFails: an expression that fails matches nothing, and says why only if it is that which decides.
func TestJudgeSaysWhatFails(t *testing.T) {
	n := notification.Notification{Branch: "main", Variables: map[string]string{"region": "eu"}}
	for reason, tc := range map[string]struct {
		option option
		names  []string
		want   Judgment
	}{
		"a missing variable":          {expressionOf("notification.variables.shard.startsWith('a')"), nil, Judgment{Problem: "no such key: shard"}},
		"beside one that is withheld": {expressionOf("notification.variables.shard.startsWith('a')"), []string{"TOKEN"}, Judgment{Problem: "no such key: shard"}},
		"one that is withheld":        {expressionOf("notification.variables.TOKEN.startsWith('a')"), []string{"TOKEN"}, Judgment{Verdict: Unknown, Reads: []string{"TOKEN"}}},
		"a guarded one":               {expressionOf("'shard' in notification.variables && notification.variables.shard.startsWith('a')"), nil, Judgment{}},
		"a false one":                 {expressionOf("notification.variables.region == 'us'"), nil, Judgment{}},
		"a true one":                  {expressionOf("notification.variables.region == 'eu'"), nil, Judgment{Verdict: Yes}},
		"paused":                      {all(paused, expressionOf("notification.variables.shard.startsWith('a')")), nil, Judgment{}},
	} {
		t.Run(reason, func(t *testing.T) {
			m, err := Compile(trigger("t", tc.option))
			if err != nil {
				t.Fatal(err)
			}
			if got := m.Judge(&n, tc.names); !cmp.Equal(got, tc.want) {
				t.Errorf("got %+v, want %+v", got, tc.want)
			}
		})
	}
}
