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
//   - expression is in CEL, over the variable notification, whose fields are named as in the body of
//     the request. See expression.go.
//
// An Index holds the Triggers of all namespaces, each compiled once per generation, and looks at
// few of them for a notification: see partition.go.
package match
