// Package match decides which Triggers match a notification, and explains why.
//
// A Trigger matches if all conditions hold that it sets; one without conditions matches everything. A condition on a field that is
// missing from the notification fails. A paused Trigger matches nothing, and neither do one that does not compile and one that only its
// schedule starts.
//
//   - branches are doublestar globs, case-sensitive, of which one must match. "!" before a glob excludes branches, wherever the glob
//     is in the list. If there are only exclusions, every other branch matches, but there must be a branch. "refs/heads/" is removed
//     from branches and globs. For a branch whose name starts with "!", write "\!...".
//   - deploymentTypes, repositories and services are compared, and one must be equal; repositories ignore case.
//   - pullRequest is Only or Never: the notification must have the number of a pull request or merge request, or must have none.
//   - expression is CEL and must be true. Its one variable, notification, has the fields of the request's body: see activationFields.
//     An expression with another name does not compile.
//
// In an expression, a missing field is "", 0, false or the empty map, and has() is false, as it is if the notification sets that value;
// hosting_service is GitHub by default. To read a missing variable is an error, and the expression does not hold. To avoid that, write
// notification.variables[?'region'].orValue('eu') or has(notification.variables.region).
package match
