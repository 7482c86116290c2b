package verdict_test

import (
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/run/verdict"
)

// TestOfRun: only a condition that is True and a state that is known to be green are green together.
func TestOfRun(t *testing.T) {
	later := passed
	later.Reason = "PassedLater"
	contradictory := passed
	contradictory.Status = metav1.ConditionFalse
	green := failed
	green.Status = metav1.ConditionTrue
	for name, tc := range map[string]struct {
		run  *v1alpha1.Suite
		want verdict.State
	}{
		"new":                           {&v1alpha1.Suite{}, verdict.Running},
		"queued":                        {run("a", 0, queued), verdict.Running},
		"running":                       {run("a", 0, running), verdict.Running},
		"passed":                        {run("a", 0, passed), verdict.Passed},
		"failed":                        {run("a", 0, failed), verdict.Failed},
		"timed out":                     {run("a", 0, timedOut), verdict.Failed},
		"an error":                      {run("a", 0, anError), verdict.Failed},
		"an error that is retried":      {run("a", 0, anError, repeatedBy("b")), verdict.None},
		"a failure says it is repeated": {run("a", 0, failed, repeatedBy("b")), verdict.Failed},
		"canceled":                      {run("a", 0, canceled), verdict.None},
		"superseded":                    {run("a", 0, superseded), verdict.None},
		"inconclusive":                  {run("a", 0, inconclusive), verdict.None},
		"a state of a later version":    {run("a", 0, later), verdict.Failed},
		"passed, and not succeeded":     {run("a", 0, contradictory), verdict.Failed},
		"failed, and succeeded":         {run("a", 0, green), verdict.Failed},
	} {
		t.Run(name, func(t *testing.T) {
			if got := verdict.OfRun(tc.run); got != tc.want {
				t.Errorf("got %s, want %s", got, tc.want)
			}
		})
	}
}

// TestAttempts: of several runs of one test, the last to end with a result counts, unless one has not ended.
func TestAttempts(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		runs   []*v1alpha1.Suite
		want   string
	}{
		"no run":    {want: "none: "},
		"passed":    {runs: []*v1alpha1.Suite{run("a", 0, passed)}, want: "passed: smoke passed a"},
		"failed":    {runs: []*v1alpha1.Suite{run("a", 0, failed)}, want: "failed: smoke failed a"},
		"timed out": {runs: []*v1alpha1.Suite{run("a", 0, timedOut)}, want: "failed: smoke failed a"},
		"withdrawn": {reason: "the nightly run failed", runs: []*v1alpha1.Suite{run("a", 0, passed), run("b", 9, failed, by(v1alpha1.OriginSchedule))},
			want: "withdrawn: smoke withdrawn b"},
		"withdrawn by an error": {runs: []*v1alpha1.Suite{run("a", 0, passed), run("b", 9, anError)}, want: "withdrawn: smoke withdrawn b"},
		"withdrawn by a run that was requested before": {reason: "the last to end counts",
			runs: []*v1alpha1.Suite{run("a", 5, passed), run("b", 0, failed, endedIn(8))}, want: "withdrawn: smoke withdrawn b"},
		"passed again": {runs: []*v1alpha1.Suite{run("a", 0, passed), run("b", 5, failed), run("c", 9, passed, by(v1alpha1.OriginRerun))},
			want: "passed: smoke passed c"},
		"passed after a failure":        {runs: []*v1alpha1.Suite{run("a", 0, failed), run("b", 5, passed)}, want: "passed: smoke passed b"},
		"then canceled":                 {runs: []*v1alpha1.Suite{run("a", 0, passed), run("b", 5, canceled)}, want: "passed: smoke passed a"},
		"then superseded":               {runs: []*v1alpha1.Suite{run("a", 0, passed), run("b", 5, superseded)}, want: "passed: smoke passed a"},
		"then inconclusive":             {runs: []*v1alpha1.Suite{run("a", 0, failed), run("b", 5, inconclusive)}, want: "failed: smoke failed a"},
		"without a result":              {runs: []*v1alpha1.Suite{run("a", 0, canceled), run("b", 5, inconclusive)}, want: "none: smoke none b"},
		"an error":                      {runs: []*v1alpha1.Suite{run("a", 0, anError)}, want: "failed: smoke failed a"},
		"an error, and its retry":       {runs: []*v1alpha1.Suite{run("a", 0, anError, repeatedBy("b")), run("b", 1, passed, endedIn(5))}, want: "passed: smoke passed b"},
		"an error whose retry is gone":  {runs: []*v1alpha1.Suite{run("a", 0, passed), run("b", 5, anError, repeatedBy("c"))}, want: "withdrawn: smoke withdrawn b"},
		"an error whose retry runs":     {runs: []*v1alpha1.Suite{run("a", 0, anError, repeatedBy("b")), run("b", 5, running)}, want: "running: smoke running b"},
		"running":                       {runs: []*v1alpha1.Suite{run("a", 0, running)}, want: "running: smoke running a"},
		"running beside a pass":         {reason: "it may fail", runs: []*v1alpha1.Suite{run("a", 0, passed), run("b", 5, running)}, want: "running: smoke running b"},
		"queued beside a failure":       {reason: "it may pass", runs: []*v1alpha1.Suite{run("a", 0, failed), run("b", 5, queued)}, want: "running: smoke running b"},
		"an older one runs":             {reason: "it may end last", runs: []*v1alpha1.Suite{run("a", 0, running), run("b", 5, passed)}, want: "running: smoke running a"},
		"two that run":                  {runs: []*v1alpha1.Suite{run("b", 5, queued), run("a", 0, running)}, want: "running: smoke running b"},
		"two ended in one second":       {reason: "the worse counts", runs: []*v1alpha1.Suite{run("a", 0, failed, endedIn(9)), run("b", 5, passed, endedIn(9))}, want: "withdrawn: smoke withdrawn a"},
		"it is not known when it ended": {runs: []*v1alpha1.Suite{run("a", 0, passed, func(s *v1alpha1.Suite) { s.Status.CompletionTime = nil })}, want: "none: smoke none a"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := drawn(verdict.Of(question(tc.runs...))); got != tc.want {
				t.Errorf("%s: %s, want %s", tc.reason, got, tc.want)
			}
			slices.Reverse(tc.runs)
			if got := drawn(verdict.Of(question(tc.runs...))); got != tc.want {
				t.Errorf("in another order: %s, want %s", got, tc.want)
			}
		})
	}
}

// TestAges: a result is too old, or not old enough.
func TestAges(t *testing.T) {
	one := []*v1alpha1.Suite{run("a", 0, passed)} // ended 59 minutes ago
	for name, tc := range map[string]struct {
		reason string
		q      verdict.Question
		want   verdict.State
		since  time.Time
		ends   time.Time // Opens while it is running, else Expires
	}{
		"without a limit":                        {q: question(one...), want: verdict.Passed, since: at(1)},
		"recent enough":                          {q: asked(question(one...), maxAge(time.Hour)), want: verdict.Passed, since: at(1), ends: at(61)},
		"at its limit":                           {q: asked(question(one...), maxAge(59*time.Minute)), want: verdict.Passed, since: at(1), ends: at(60)},
		"too old":                                {q: asked(question(one...), maxAge(58*time.Minute)), want: verdict.Stale},
		"too old for the asker":                  {q: asked(question(one...), maxAge(2*time.Hour), func(q *verdict.Question) { q.MaxAge = time.Minute }), want: verdict.Stale},
		"too old only for the asker":             {q: asked(question(one...), func(q *verdict.Question) { q.MaxAge = time.Minute }), want: verdict.Stale},
		"the asker allows more":                  {reason: "the Environment decides", q: asked(question(one...), maxAge(time.Minute), func(q *verdict.Question) { q.MaxAge = 2 * time.Hour }), want: verdict.Stale},
		"a rule replaces that of an Environment": {q: asked(question(one...), maxAge(time.Minute), func(q *verdict.Question) { q.Rule = &v1alpha1.GateRule{MaxAge: &metav1.Duration{Duration: time.Hour}} }), want: verdict.Passed, since: at(1), ends: at(61)},
		"a rule leaves the rest":                 {q: asked(question(one...), maxAge(time.Minute), func(q *verdict.Question) { q.Rule = &v1alpha1.GateRule{MinAge: &metav1.Duration{}} }), want: verdict.Stale},
		"the oldest result expires": {q: asked(question(run("a", 0, passed), run("b", 9, passed, of("e2e"))), triggers(trigger("smoke"), trigger("e2e")), maxAge(time.Hour)),
			want: verdict.Passed, since: at(10), ends: at(61)},
		"a failure is never stale": {q: asked(question(run("a", 0, failed)), maxAge(time.Minute)), want: verdict.Failed},
		"not for long enough":      {q: asked(question(one...), minAge(time.Hour)), want: verdict.Running, since: at(1), ends: at(61)},
		"for long enough":          {q: asked(question(one...), minAge(59*time.Minute)), want: verdict.Passed, since: at(1)},
		"passed twice":             {reason: "a second pass starts no new wait", q: asked(question(run("a", 0, passed), run("b", 50, passed)), minAge(30*time.Minute)), want: verdict.Passed, since: at(1)},
		"failed in between":        {q: asked(question(run("a", 0, passed), run("b", 40, failed), run("c", 50, passed)), minAge(30*time.Minute)), want: verdict.Running, since: at(51), ends: at(81)},
		"canceled in between":      {q: asked(question(run("a", 0, passed), run("b", 40, canceled), run("c", 50, passed)), minAge(30*time.Minute)), want: verdict.Passed, since: at(1)},
	} {
		t.Run(name, func(t *testing.T) {
			v := verdict.Of(tc.q)
			if v.State != tc.want || !v.Since.Equal(tc.since) {
				t.Errorf("%s: %s since %s, want %s since %s", tc.reason, v.State, v.Since, tc.want, tc.since)
			}
			known := v.Expires
			if v.State == verdict.Running {
				known = v.Opens
			}
			if !known.Equal(tc.ends) {
				t.Errorf("expires %s, opens %s, want %s", v.Expires, v.Opens, tc.ends)
			}
		})
	}
}

// TestOtherDeployment: a result of other variables, files or another URL than those that were deployed last is stale.
func TestOtherDeployment(t *testing.T) {
	urls := v1alpha1.DifferentURL
	for name, tc := range map[string]struct {
		reason string
		runs   []*v1alpha1.Suite
		want   verdict.State
	}{
		"answered another":      {runs: []*v1alpha1.Suite{run("a", 0, passed, answeredOther(5, urls))}, want: verdict.Stale},
		"answered the same":     {runs: []*v1alpha1.Suite{run("a", 0, passed, answeredOther(5))}, want: verdict.Passed},
		"failed":                {runs: []*v1alpha1.Suite{run("a", 0, failed, answeredOther(5, urls))}, want: verdict.Failed},
		"tested since":          {runs: []*v1alpha1.Suite{run("a", 0, passed, answeredOther(5, urls)), run("b", 9, passed)}, want: verdict.Passed},
		"tested before that":    {reason: "the answer came after the other run", runs: []*v1alpha1.Suite{run("a", 0, passed, answeredOther(15, urls)), run("b", 9, passed)}, want: verdict.Stale},
		"run again as before":   {reason: "a rerun has the variables of its run", runs: []*v1alpha1.Suite{run("a", 0, passed, answeredOther(5, urls)), run("b", 9, passed, by(v1alpha1.OriginRerun))}, want: verdict.Stale},
		"run at night":          {reason: "a schedule repeats the last run", runs: []*v1alpha1.Suite{run("a", 0, passed, answeredOther(5, urls)), run("b", 9, passed, by(v1alpha1.OriginSchedule))}, want: verdict.Stale},
		"rerun of what is new":  {runs: []*v1alpha1.Suite{run("a", 0, passed, answeredOther(5, urls)), run("b", 9, failed), run("c", 12, passed, by(v1alpha1.OriginRerun))}, want: verdict.Passed},
		"a later one answered":  {runs: []*v1alpha1.Suite{run("a", 0, passed), run("b", 5, inconclusive, answeredOther(9, urls))}, want: verdict.Stale},
		"deployed again":        {runs: []*v1alpha1.Suite{run("a", 0, passed, variables("firefox")), run("b", 5, canceled, variables("firefox"))}, want: verdict.Passed},
		"with other variables":  {reason: "no run with them has a result", runs: []*v1alpha1.Suite{run("a", 0, passed, variables("firefox")), run("b", 5, canceled, variables("chrome"))}, want: verdict.Stale},
		"at another URL":        {runs: []*v1alpha1.Suite{run("a", 0, passed, deployedTo("https://a")), run("b", 5, superseded, deployedTo("https://b"))}, want: verdict.Stale},
		"before":                {runs: []*v1alpha1.Suite{run("a", 0, canceled, variables("firefox")), run("b", 5, passed, variables("chrome"))}, want: verdict.Passed},
		"run again since":       {reason: "a rerun of what was there before deploys nothing", runs: []*v1alpha1.Suite{run("a", 0, failed, variables("firefox")), run("b", 5, passed, variables("chrome"), endedIn(20)), run("c", 9, canceled, variables("firefox"), by(v1alpha1.OriginRerun))}, want: verdict.Passed},
		"by a rollout":          {reason: "which knows of no variables", runs: []*v1alpha1.Suite{run("a", 0, passed, variables("firefox")), run("b", 5, canceled, by(v1alpha1.OriginRollout))}, want: verdict.Passed},
		"by an event":           {reason: "which has no variables", runs: []*v1alpha1.Suite{run("a", 0, passed, variables("firefox")), run("b", 5, canceled, by(v1alpha1.OriginEvent))}, want: verdict.Passed},
		"by an event elsewhere": {runs: []*v1alpha1.Suite{run("a", 0, passed, deployedTo("https://a")), run("b", 5, canceled, by(v1alpha1.OriginEvent), deployedTo("https://b"))}, want: verdict.Stale},
	} {
		t.Run(name, func(t *testing.T) {
			if got := verdict.Of(question(tc.runs...)); got.State != tc.want {
				t.Errorf("%s: %s, want %s", tc.reason, drawn(got), tc.want)
			}
		})
	}
}

// TestRequired: which Triggers must have passed.
func TestRequired(t *testing.T) {
	e2e := of("e2e")
	both := triggers(trigger("smoke"), trigger("e2e"))
	leftOut := func(names ...string) func(*verdict.Question) { return func(q *verdict.Question) { q.LeftOut = names } }
	for name, tc := range map[string]struct {
		reason string
		q      verdict.Question
		want   string
	}{
		"all that ran":           {q: asked(question(run("a", 0, passed), run("b", 0, passed, e2e)), both), want: "passed: e2e passed b, smoke passed a"},
		"one failed":             {q: asked(question(run("a", 0, passed), run("b", 0, failed, e2e)), both), want: "failed: e2e failed b, smoke passed a"},
		"one failed, one runs":   {reason: "a failure is known for good", q: asked(question(run("a", 0, running), run("b", 0, failed, e2e)), both), want: "failed: e2e failed b, smoke running a"},
		"one never matched":      {q: asked(question(run("a", 0, passed)), both), want: "passed: smoke passed a"},
		"one matched":            {reason: "its run was deleted, or could not be created", q: asked(question(run("a", 0, passed, siblings("e2e"))), both), want: "none: e2e none, smoke passed a"},
		"one matched, and ran":   {q: asked(question(run("a", 0, passed, siblings("e2e")), run("b", 0, passed, e2e, siblings("smoke"))), both), want: "passed: e2e passed b, smoke passed a"},
		"services that ran":      {q: asked(question(run("a", 0, passed, service("api"), siblings("e2e")), run("b", 0, passed, e2e, service("api"), siblings("smoke"))), both), want: "passed: e2e api passed b, smoke api passed a"},
		"a deleted one matched":  {q: question(run("a", 0, passed, siblings("e2e"))), want: "passed: smoke passed a"},
		"one of another service": {reason: "each service has its own run", q: asked(question(run("a", 0, passed, service("api"), siblings("e2e")), run("b", 0, passed, e2e, service("web"))), both), want: "none: e2e api none, e2e web passed b, smoke api passed a"},
		"one was deleted":        {reason: "it tests no longer", q: question(run("a", 0, passed), run("b", 0, failed, e2e)), want: "passed: smoke passed a"},
		"all were deleted":       {q: asked(question(run("a", 0, passed)), triggers()), want: "none: "},
		"one is not Ready":       {reason: "it may have matched", q: asked(question(run("a", 0, passed)), triggers(trigger("smoke"), trigger("e2e", notReady("The image is missing.")))), want: "none: e2e none, smoke passed a"},
		"one is not Ready since": {reason: "it ran", q: asked(question(run("a", 0, passed)), triggers(trigger("smoke", notReady("")))), want: "passed: smoke passed a"},
		"one is too large":       {q: asked(question(run("a", 0, passed)), leftOut("e2e")), want: "none: e2e none, smoke passed a"},
		"named":                  {q: asked(question(run("a", 0, passed), run("b", 0, failed, e2e)), both, requires("smoke")), want: "passed: smoke passed a"},
		"named, without a run":   {q: asked(question(run("a", 0, passed)), both, requires("smoke", "e2e")), want: "none: e2e none, smoke passed a"},
		"named, unknown":         {q: asked(question(run("a", 0, passed)), requires("smoke", "smok")), want: "none: smok none, smoke passed a"},
		"named, another is not Ready": {q: asked(question(run("a", 0, passed)), triggers(trigger("smoke"), trigger("e2e", notReady(""))), leftOut("large"), requires("smoke")),
			want: "passed: smoke passed a"},
		"named by the asker": {q: asked(question(run("a", 0, passed), run("b", 0, failed, e2e)), both, requires("smoke"), func(q *verdict.Question) { q.Rule = &v1alpha1.GateRule{Triggers: []string{"e2e"}} }),
			want: "failed: e2e failed b"},
		"no run at all": {q: asked(question(), requires("smoke")), want: "none: smoke none"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := drawn(verdict.Of(tc.q)); got != tc.want {
				t.Errorf("%s: %s, want %s", tc.reason, got, tc.want)
			}
		})
	}
}

// TestCommits: which runs are of the commit.
func TestCommits(t *testing.T) {
	tag := "v1.2.3"
	in := func(environment string) change { return func(s *v1alpha1.Suite) { s.Spec.Environment = environment } }
	for name, tc := range map[string]struct {
		reason string
		q      verdict.Question
		want   string
	}{
		"another commit":          {q: question(run("a", 0, passed, commitOf("acme/shop", otherSHA))), want: "none: "},
		"another spelling":        {q: asked(question(run("a", 0, passed)), about("Acme/Shop", "", "5CA1AB1E"+sha[8:])), want: "passed: smoke passed a"},
		"an abbreviation":         {reason: "it may later fit another commit", q: asked(question(run("a", 0, passed)), about("acme/shop", "", sha[:12])), want: "none: "},
		"an abbreviated run":      {q: question(run("a", 0, passed, commitOf("acme/shop", sha[:12]))), want: "none: "},
		"no commit":               {q: asked(question(run("a", 0, passed, commitOf("acme/shop", ""))), about("acme/shop", "", "")), want: "none: "},
		"a fork":                  {q: question(run("a", 0, passed, commitOf("eve/shop", sha))), want: "none: "},
		"a fork failed":           {q: question(run("a", 0, passed), run("b", 5, failed, commitOf("eve/shop", sha))), want: "passed: smoke passed a"},
		"no repository is asked":  {q: asked(question(run("a", 0, passed)), about("", "", sha)), want: "passed: smoke passed a"},
		"no repository is known":  {reason: "a SHA names one commit", q: question(run("a", 0, passed, commitOf("", sha))), want: "passed: smoke passed a"},
		"a tag of no repository":  {q: asked(question(run("a", 0, passed, commitOf("", tag))), about("acme/shop", "", tag)), want: "none: "},
		"a tag":                   {q: asked(question(run("a", 0, passed, commitOf("acme/shop", tag))), about("acme/shop", "", tag)), want: "passed: smoke passed a"},
		"a tag in capitals":       {q: asked(question(run("a", 0, passed, commitOf("acme/shop", tag))), about("acme/shop", "", "V1.2.3")), want: "none: "},
		"a tag of two":            {reason: "each repository must have passed", q: asked(question(run("a", 0, failed, commitOf("acme/shop", tag)), run("b", 5, passed, commitOf("acme/pay", tag))), about("", "", tag)), want: "failed: smoke failed a, smoke passed b"},
		"services":                {q: question(run("a", 0, passed, service("api")), run("b", 5, failed, service("web"))), want: "failed: smoke web failed b, smoke api passed a"},
		"one service":             {q: asked(question(run("a", 0, passed, service("api")), run("b", 5, failed, service("web"))), about("acme/shop", "api", sha)), want: "passed: smoke api passed a"},
		"a service of a whole":    {reason: "it is not known which service that was", q: asked(question(run("a", 0, passed)), about("acme/shop", "api", sha)), want: "none: "},
		"another Environment":     {q: question(run("a", 0, passed, in("production"))), want: "none: "},
		"a removed Environment":   {reason: "the new one has the same name", q: question(run("a", 0, passed, func(s *v1alpha1.Suite) { s.Spec.EnvironmentUID = "old" })), want: "none: "},
		"the present Environment": {q: question(run("a", 0, passed, func(s *v1alpha1.Suite) { s.Spec.EnvironmentUID = "new" })), want: "passed: smoke passed a"},
		"a backup":                {q: question(run("a", 0, passed, func(s *v1alpha1.Suite) { s.CreationTimestamp = metav1.NewTime(at(0).Add(48 * time.Hour)) })), want: "none: "},
	} {
		t.Run(name, func(t *testing.T) {
			if got := drawn(verdict.Of(tc.q)); got != tc.want {
				t.Errorf("%s: %s, want %s", tc.reason, got, tc.want)
			}
		})
	}
}

// TestQuestionIsNotChanged: what a question holds is shared with the cache.
func TestQuestionIsNotChanged(t *testing.T) {
	runs := []*v1alpha1.Suite{run("b", 5, passed), run("a", 0, failed)}
	q := asked(question(runs...), requires("smoke"))
	before := []*v1alpha1.Suite{runs[0].DeepCopy(), runs[1].DeepCopy()}
	verdict.Of(q)
	for i, s := range q.Suites {
		if s.Name != before[i].Name || s.ResourceVersion != before[i].ResourceVersion {
			t.Errorf("run %d is %s, want %s", i, s.Name, before[i].Name)
		}
	}
}
