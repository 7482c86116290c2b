// Crdtighten makes the CRDs in a folder reject what Go cannot decode: one such object would fail every watch and list of its kind, and
// controller-gen's schemas of times, Quantities and numbers accept some. It bounds what Kubernetes' own types do not, and drops foreign
// descriptions, so that each CRD fits into the annotation of a client-side apply.
package main

import (
	"fmt"
	"math"
	"os"
	"path/filepath"

	"sigs.k8s.io/yaml"
)

const (
	// timePattern is RFC 3339 as time.Parse accepts it. The format date-time also accepts "t", "z", offsets such as +99:99, and anything after
	// a second "t".
	timePattern = `^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$`

	// looseQuantity is the pattern of controller-gen. Its exponent may have a fraction or any number of digits, which ParseQuantity rejects.
	looseQuantity = `^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$`
	quantity      = `^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?[0-9]{1,2}))?$`

	// maxInt64 is the largest int64 that is also a float64, because bounds in a schema are float64.
	maxInt64 = 1<<63 - 1024
)

func main() {
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "crdtighten:", err)
		os.Exit(1)
	}
}

func run(folder string) error {
	files, err := filepath.Glob(filepath.Join(folder, "*.yaml"))
	if err != nil {
		return err
	}
	for _, file := range files {
		if err := rewrite(file); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
	}
	return nil
}

func rewrite(file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var crd map[string]any
	if err := yaml.Unmarshal(text, &crd); err != nil {
		return err
	}
	if err := tighten(crd); err != nil {
		return err
	}
	limit(crd)
	shorten(crd)
	text, err = yaml.Marshal(crd)
	if err != nil {
		return err
	}
	return os.WriteFile(file, append([]byte("---\n"), text...), 0o644)
}

func tighten(node any) error {
	switch node := node.(type) {
	case []any:
		for _, item := range node {
			if err := tighten(item); err != nil {
				return err
			}
		}
	case map[string]any:
		if err := tightenSchema(node); err != nil {
			return err
		}
		for _, value := range node {
			if err := tighten(value); err != nil {
				return err
			}
		}
	}
	return nil
}

func tightenSchema(schema map[string]any) error {
	pattern, format := schema["pattern"], schema["format"]
	switch {
	case schema["x-kubernetes-int-or-string"] == true && pattern == looseQuantity:
		schema["pattern"] = quantity
	case schema["x-kubernetes-int-or-string"] == true && pattern == nil:
		bound(schema, math.MinInt32, math.MaxInt32) // an IntOrString; strings have no minimum
	case schema["x-kubernetes-int-or-string"] == true:
		return fmt.Errorf("there is a new pattern of a Quantity, %q: check which parts of it ParseQuantity rejects", pattern)
	case format == "date-time" && pattern == nil:
		schema["pattern"] = timePattern
	case format == "int32":
		bound(schema, math.MinInt32, math.MaxInt32) // only recent API servers check the format
	case format == "int64":
		bound(schema, -maxInt64, maxInt64)
	}
	return nil
}

func bound(schema map[string]any, least, most float64) {
	if stated, ok := schema["minimum"].(float64); !ok || stated < least {
		schema["minimum"] = least
	}
	if stated, ok := schema["maximum"].(float64); !ok || stated > most {
		schema["maximum"] = most
	}
}

// shorten drops the descriptions below each property jobTemplate, whose own description stays. They are Kubernetes' own, and with them the
// CRD of the Trigger is too large for the annotation of a client-side apply.
func shorten(node any) {
	switch node := node.(type) {
	case []any:
		for _, item := range node {
			shorten(item)
		}
	case map[string]any:
		for name, value := range node {
			schema, ok := value.(map[string]any)
			if !ok || name != "jobTemplate" {
				shorten(value)
				continue
			}
			about := schema["description"]
			dropDescriptions(schema)
			schema["description"] = about
		}
	}
}

func dropDescriptions(node any) {
	switch node := node.(type) {
	case []any:
		for _, item := range node {
			dropDescriptions(item)
		}
	case map[string]any:
		if _, ok := node["description"].(string); ok { // a property of that name is a map
			delete(node, "description")
		}
		for _, value := range node {
			dropDescriptions(value)
		}
	}
}
