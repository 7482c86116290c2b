package junit

// Suite is an open suite. Its name is empty if it is the root of several: that is the name of a tool.
type Suite struct {
	Name, File string
	ID         string // differs from the ID of other suites with the same name in the report, such as for two browsers
}

// Path joins the names of suites, outermost first, up to about maxSuite bytes: each test may repeat it.
func Path(suites []Suite) string {
	path := ""
	for _, s := range suites {
		if s.Name == "" || len(path) >= maxSuite {
			continue
		}
		if path != "" {
			path += " > "
		}
		path += s.Name
	}
	return path
}
