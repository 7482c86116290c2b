package model

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"path"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

const (
	namespace   = "acme"
	environment = "staging"
	preview     = "https://preview.example.com"
)

// setup is what stays the same in a history: the Triggers, who says what of a deployment, and what happens at all.
type setup struct {
	triggers   string // one, by repository, by branch, or twice
	duplicates v1alpha1.DuplicatePolicy
	supersede  v1alpha1.SupersedePolicy
	retries    int32
	maxAge     time.Duration

	repositories, branches int

	monorepo bool // the repositories are services of one, which are deployed from the same commits if they are always named

	previews bool // one branch has a URL of its own
	versions bool // revisions are no commits, and both repositories have the same ones
	named    string
	untyped  bool // pipelines name no deployment type
	ownURL   bool // pipelines name the URL of the Environment, at times

	workloads bool // the Environment names them, so that Postflight sees what is there
	ready     bool // Triggers wait for their version
	partly    bool // one of two services has no workload

	happens map[string]bool // steps besides deployments and ends of tests
}

var repositories = []string{"acme/shop", "acme/pay"}

// optional are the steps that a history may lack.
var optional = []string{
	"event", "late", "twice", "sent again", "rerun", "rerun failed", "re-run check", "notify --rerun", "schedule", "error",
	"spelling", "race", "restore", "rebuild", "cancel", "pause", "hub", "overtaken",
}

func newSetup(random *rand.Rand) setup {
	among := func(all ...string) string { return all[random.IntN(len(all))] }
	s := setup{
		triggers:     among("one", "one", "by repository", "by branch", "twice"),
		duplicates:   v1alpha1.DuplicatePolicy(among("Commit", "Commit", "Deployment", "RerunUnsuccessful")),
		supersede:    v1alpha1.SupersedePolicy(among("", "", "Environment", "None")),
		repositories: 1 + random.IntN(2), branches: 1 + random.IntN(2),
		named:   among("always", "never", "sometimes"),
		untyped: random.IntN(3) == 0, ownURL: random.IntN(4) == 0,
		happens: map[string]bool{},
	}
	s.previews = s.branches == 2 && random.IntN(3) == 0
	s.versions = random.IntN(5) == 0
	if s.triggers == "by repository" || s.versions { // otherwise nothing matches, or nobody can know which one is meant
		s.named = "always"
	}
	if random.IntN(4) == 0 {
		s.maxAge = time.Hour
	}
	s.workloads, s.ready = random.IntN(4) == 0 && !s.previews && !s.versions, random.IntN(3) == 0
	for _, step := range optional {
		s.happens[step] = random.IntN(2) == 0
	}
	s.happens["hub"] = random.IntN(4) == 0                                  // such a history is played twice
	if s.named == "sometimes" || s.named == "never" && s.happens["event"] { // the first message of a commit decides of which repository it is
		s.happens["overtaken"] = false
	}
	s.retries = random.Int32N(3)
	s.monorepo = s.repositories == 2 && random.IntN(2) == 0
	s.partly = s.workloads && s.monorepo && random.IntN(2) == 0
	if s.workloads {
		s.happens["rebuild"] = false
	}
	return s
}

// String says what differs from the simplest setup.
func (s setup) String() string {
	var all []string
	add := func(is bool, what string, args ...any) {
		if is {
			all = append(all, fmt.Sprintf(what, args...))
		}
	}
	add(s.triggers != "one", "Triggers: %s", s.triggers)
	add(s.duplicates != v1alpha1.DuplicatesCommit, "duplicates: %s", s.duplicates)
	add(s.supersede != "", "supersede: %s", s.supersede)
	add(s.retries > 0, "retry.onError: %d", s.retries)
	add(s.maxAge > 0, "duplicatesMaxAge: %s", s.maxAge)
	add(s.monorepo, "a monorepo")
	add(s.previews, "previews")
	add(s.versions, "versions")
	add(s.named != "always", "repository named %s", s.named)
	add(s.untyped, "no types")
	add(s.ownURL, "own URL named")
	add(s.workloads, "workloads")
	add(s.workloads && s.ready, "ready")
	add(s.partly, "one service without workloads")
	for _, step := range optional {
		add(s.happens[step], "%s", step)
	}
	return strings.Join(all, ", ")
}

// simpler are setups that lack one thing, and let the rest of a history be the same.
func (s setup) simpler() (all []setup) {
	add := func(change func(*setup)) {
		other := s
		other.happens = maps.Clone(s.happens)
		if change(&other); other.String() != s.String() {
			all = append(all, other)
		}
	}
	for _, step := range optional {
		add(func(s *setup) { s.happens[step] = false })
	}
	add(func(s *setup) { s.triggers = "one" })
	add(func(s *setup) { s.duplicates = v1alpha1.DuplicatesCommit })
	add(func(s *setup) { s.supersede = "" })
	add(func(s *setup) { s.retries = 0 })
	add(func(s *setup) { s.maxAge = 0 })
	add(func(s *setup) { s.previews = false })
	add(func(s *setup) { s.versions = false })
	add(func(s *setup) { s.named = "always" })
	add(func(s *setup) { s.untyped = false })
	add(func(s *setup) { s.ownURL = false })
	add(func(s *setup) { s.monorepo, s.partly = false, false })
	add(func(s *setup) { s.workloads, s.partly = false, false })
	add(func(s *setup) { s.partly = false })
	add(func(s *setup) { s.ready = false })
	return all
}

// watched are the repositories that have workloads.
func (s setup) watched() []string {
	switch {
	case !s.workloads:
		return nil
	case s.partly:
		return repositories[:1]
	default:
		return repositories[:s.repositories]
	}
}

func (s setup) branch(i int) string { return []string{"main", "hotfix"}[i%s.branches] }

// commits are three of each repository and branch; at least one is good, and one is bad.
func (s setup) commits(random *rand.Rand) (all []*commit) {
	for r := range s.repositories {
		for i := range 3 * s.branches {
			c := &commit{repository: repositories[r], branch: s.branch(i), good: i%3 != 0 && (i%3 == 1 || random.IntN(2) == 0)}
			c.sha = strings.Repeat(fmt.Sprintf("%02x", 0xa1+16*i+r), 20)
			if s.monorepo && s.named == "always" {
				c.sha = strings.Repeat(fmt.Sprintf("%02x", 0xa1+16*i), 20)
			}
			if s.versions {
				c.sha = fmt.Sprintf("v1.%d.0", (i+r)%(3*s.branches))
			}
			all = append(all, c)
		}
	}
	return all
}

// partOf returns how the product names a repository of the model.
func (s setup) partOf(name string) (repository, service string) {
	if s.monorepo {
		return "acme/mono", path.Base(name)
	}
	return name, ""
}

func (s setup) placeOf(c *commit, generation int) place {
	if s.previews && c.branch == "hotfix" {
		return place{generation, preview}
	}
	return place{generation: generation}
}

func (s setup) environmentOf(generation int) *v1alpha1.Environment {
	e := &v1alpha1.Environment{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: environment, UID: types.UID(fmt.Sprint("environment-", generation))},
		Spec:       v1alpha1.EnvironmentSpec{URL: ownURL(generation)},
	}
	e.Spec.Workloads = s.workloadsOf()
	return e
}

func ownURL(generation int) string { return fmt.Sprintf("https://staging-%d.example.com", generation) }

// triggersOf returns the Triggers, and the repositories that the tests of each see.
func (s setup) triggersOf() (all []*v1alpha1.Trigger, sees map[string][]string) {
	everything := repositories
	sees = map[string][]string{}
	add := func(name string, match v1alpha1.TriggerMatch, repositories []string) {
		t := &v1alpha1.Trigger{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID("uid-" + name)}}
		t.Spec = v1alpha1.TriggerSpec{
			Environment: environment, Duplicates: s.duplicates, Supersede: s.supersede, Match: match,
			Results: &v1alpha1.Results{MinTests: 2}, Retry: &v1alpha1.Retry{OnError: s.retries},
		}
		if s.workloads && s.ready {
			t.Spec.Ready = &v1alpha1.Ready{}
		}
		if s.maxAge > 0 {
			t.Spec.DuplicatesMaxAge = &metav1.Duration{Duration: s.maxAge}
		}
		all, sees[name] = append(all, t), repositories
	}
	switch s.triggers {
	case "by repository":
		for _, r := range everything {
			match := v1alpha1.TriggerMatch{Repositories: []string{r}}
			if repository, service := s.partOf(r); service != "" {
				match = v1alpha1.TriggerMatch{Repositories: []string{repository}, Services: []string{service}}
			}
			add(strings.ReplaceAll(r, "/", "-"), match, []string{r})
		}
	case "by branch":
		for _, b := range []string{"main", "hotfix"} {
			add(b, v1alpha1.TriggerMatch{Branches: []string{b}}, everything)
		}
	case "twice":
		add("checkout", v1alpha1.TriggerMatch{}, everything)
		fallthrough
	default:
		add("smoke", v1alpha1.TriggerMatch{}, everything)
	}
	return all, sees
}
