package failure

// Name is the name of a test as a document has it.
func Name(name string) string { return line(name) }
