package doctor

import (
	"cmp"
	"slices"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
)

const checkRights = "rights"

// right is a rule of the manager's roles.
type right struct {
	group, resources, verbs string // separated by spaces
	name                    string // of the only object; empty: all
	scope                   scope
}

type scope int

const (
	teams     scope = iota // namespaces of teams
	ownOnly                // the namespace of the manager
	clustered              // the cluster; an installation for a few namespaces lacks it
	reviews                // the cluster
)

// rights are the rules of config/rbac, with which a test compares them.
var rights = []right{
	{"", "namespaces", "list watch", "", clustered},
	{"", "pods", "get list patch watch", "", teams},
	{"", "pods/log", "get", "", teams},
	{"", "limitranges", "list", "", teams},
	{"authentication.k8s.io", "tokenreviews", "create", "", reviews},
	{"authorization.k8s.io", "subjectaccessreviews", "create", "", reviews},
	{"batch", "jobs", "create delete get list patch watch", "", teams},
	{"events.k8s.io", "events", "create list watch", "", teams},
	{"postflight.dev", "clusters teams", "list watch", "", clustered},
	{"postflight.dev", "teams/status", "patch", "", clustered},
	{"postflight.dev", "apikeys", "list watch", "", teams},
	{"postflight.dev", "triggers", "get list watch", "", teams},
	{"postflight.dev", "triggerclasses", "get list watch", "", clustered},
	{"postflight.dev", "clusters/status", "patch", "", clustered},
	{"postflight.dev", "deploymentgates eventsources quarantines trustpolicies", "list watch", "", teams},
	{"postflight.dev", "apikeys/status deploymentgates/status deploymentreviews/status environments/status eventsources/status " +
		"quarantines/status suites/status triggers/status trustpolicies/status", "patch", "", teams},
	{"postflight.dev", "deploymentreviews", "create delete list watch", "", teams},
	{"postflight.dev", "environments suites", "create delete get list patch watch", "", teams},
	{"postflight.dev", "environments/finalizers suites/finalizers", "update", "", teams},
	{"coordination.k8s.io", "leases", "create", "", ownOnly},
	{"coordination.k8s.io", "leases", "get update", "postflight", ownOnly},
	{"", "secrets", "get list watch update", "postflight-sessions", ownOnly},
}

// Rights returns what the manager must be allowed to do, everywhere unless namespaces of teams are watched.
func Rights(own string, watched []string) (questions []authorizationv1.ResourceAttributes) {
	for _, r := range rights {
		for _, namespace := range r.namespaces(own, watched) {
			for resource := range strings.FieldsSeq(r.resources) {
				for verb := range strings.FieldsSeq(r.verbs) {
					resource, subresource, _ := strings.Cut(resource, "/")
					questions = append(questions, authorizationv1.ResourceAttributes{
						Namespace: namespace, Group: r.group, Resource: resource, Subresource: subresource, Verb: verb, Name: r.name,
					})
				}
			}
		}
	}
	return questions
}

// namespaces returns where the right is needed; "" is the cluster.
func (r right) namespaces(own string, watched []string) []string {
	switch {
	case r.scope == ownOnly:
		return []string{own}
	case r.scope == teams && len(watched) > 0:
		return watched
	case r.scope == clustered && len(watched) > 0:
		return nil
	default:
		return []string{""}
	}
}

// MissingRights says which of the rights the account lacks.
func MissingRights(account string, asked int, denied []authorizationv1.ResourceAttributes) Finding {
	if len(denied) == 0 {
		return ok(checkRights, "%s may do all of the %d things that the manager does.", account, asked)
	}
	var names []string
	for _, d := range denied {
		names = append(names, sentenceOf(d))
	}
	slices.Sort(names)
	return failure(checkRights,
		"Apply the roles of the manager's version: upgrade the chart with rbac.create=true, or `kubectl apply -k config/rbac`.",
		"%s may not %s.", account, list(slices.Compact(names)))
}

func sentenceOf(a authorizationv1.ResourceAttributes) string {
	resource := strings.TrimSuffix(a.Resource+"/"+a.Subresource, "/")
	if a.Group != "" {
		resource += "." + a.Group
	}
	text := strings.Join(strings.Fields(a.Verb+" "+resource+" "+a.Name), " ")
	return text + " in " + cmp.Or(a.Namespace, "the cluster")
}
