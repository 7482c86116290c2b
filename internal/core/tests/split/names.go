package split

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
)

// Names reads names, each on a line, or each ended by a NUL. It returns them sorted, without repetition and empty ones.
func Names(input []byte, nul bool) ([]string, error) {
	separator := byte('\n')
	if nul {
		separator = 0
	}
	var names []string
	for part := range bytes.SplitSeq(input, []byte{separator}) {
		if !nul {
			part = bytes.TrimSuffix(part, []byte("\r"))
		}
		names = append(names, string(part))
	}
	return Sorted(names)
}

// Sorted returns names sorted, without duplicates and empty ones. They are sorted by their bytes, so that the language of the pod does not
// matter.
func Sorted(names []string) ([]string, error) {
	all := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return name == "" })
	slices.Sort(all)
	all = slices.Compact(all)
	if len(all) > maxFiles {
		return nil, fmt.Errorf("there are %d names, and at most %d can be split", len(all), maxFiles)
	}
	if i := slices.IndexFunc(all, func(name string) bool { return len(name) > maxName }); i >= 0 {
		return nil, fmt.Errorf("the name that begins with %q has %d bytes, and no file can have more than %d",
			strings.ToValidUTF8(all[i][:80], ""), len(all[i]), maxName)
	}
	return all, nil
}
