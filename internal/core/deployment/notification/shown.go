package notification

import "slices"

// BrokenText is the reason of an InvalidError about a text that nothing may repair.
const BrokenText = "must be valid UTF-8, without parts of characters, such as half an emoji"

// shown are the members that only people read. Their texts are cut and repaired, and refuse no notification.
var shown = []string{"commit_message", "commit_author"}

// Shown reports whether only people read a member. All other members are compared, are links, or reach the tests: a repaired text would
// name something else.
func Shown(member string) bool { return slices.Contains(shown, member) }
