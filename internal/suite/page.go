package suite

// PageURL is where people read about a run. The scheme is stable: it ends up in CI logs, in checks on
// code hosts and in chat, long before and after the page is looked at.
func PageURL(publicURL, namespace, name string) string {
	return publicURL + "/runs/" + namespace + "/" + name
}
