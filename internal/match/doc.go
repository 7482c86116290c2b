// Package match decides which Triggers want a notification, and says why or why not.
//
// All conditions that a Trigger gives must hold, and those it does not give hold always. A condition
// whose field the notification lacks does not hold: a Trigger with deploymentTypes never matches a
// notification without a deployment_type. A paused Trigger matches nothing, nor does one that does
// not compile.
//
//   - branches are doublestar globs, case-sensitive, of which one must match; "!" before a glob makes
//     it an exclusion, wherever it stands in the list. Exclusions alone mean "any branch but", and
//     a branch is still needed. "refs/heads/" is taken off branches and globs alike. A branch whose
//     name starts with "!" is written "\!...".
//   - deploymentTypes and repositories are compared exactly; one must be equal.
//   - pullRequest is Only or Never: the notification has the number of a pull request or merge request,
//     or has none.
//   - expression is in CEL and must be true. Its one variable, notification, has the fields of the
//     request's body, under the same names: branch (without refs/heads/), sha, deployment_type,
//     deployment_url, hosting_service, commit_url, repository (as owner/name), pull_request_number
//     (also of a merge request), deduplication_key, ephemeral_environment, and the map variables.
//     A name that is not among them does not compile.
//
// In an expression, what the notification lacks is "", 0, false or the empty map, and has() is false
// of it, as it is of what is sent as such; hosting_service is GitHub by default. To read a missing
// variable is an error, and the expression does not hold; notification.variables[?'region'].orValue('eu')
// and has(notification.variables.region) are ways around it. What it may cost is limited: see limits.go.
//
// Each condition is a Criterion, in a file of its own; definitions in criterion.go lists them. An Index
// holds the Triggers of all namespaces, each compiled once per generation, and tries few of them for a
// notification: see namespaceindex.go.
package match
