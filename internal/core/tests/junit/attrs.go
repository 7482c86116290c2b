package junit

import "slices"

// Attrs are the attributes of a start tag. There are few, so that a search is faster than a map, and takes less memory.
type Attrs []Attr

// Attr is an attribute. Its name has its prefix.
type Attr struct{ Name, Value string }

// Get returns the value of an attribute, or "".
func (a Attrs) Get(name string) string {
	if i := a.index(name); i >= 0 {
		return a[i].Value
	}
	return ""
}

// Set replaces or adds an attribute.
func (a *Attrs) Set(name, value string) {
	if i := a.index(name); i >= 0 {
		(*a)[i].Value = value
		return
	}
	*a = append(*a, Attr{name, value})
}

func (a Attrs) index(name string) int {
	return slices.IndexFunc(a, func(attr Attr) bool { return attr.Name == name })
}
