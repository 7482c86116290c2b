package main

import "cmp"

// maxOther bounds a list or a map of a jobTemplate that is not in maxItems: no pod that a kubelet starts has as many of anything.
const maxOther = 1024

// maxItems bounds lists of a jobTemplate. An item of a few bytes, such as a container, takes up to 400 in memory, so that the
// size of an object does not bound what it takes. Kubelets start fewer containers in all of their pods: 110 pods are the default.
var maxItems = map[string]int{
	"containers": 64, "initContainers": 64, "ephemeralContainers": 64, "env": 1024, "envFrom": 256, "volumes": 256, "volumeMounts": 256,
	"sources": 64, // of a projected volume
}

// Kubernetes' own bounds of names.
const (
	maxKey    = 317 // of a label: the prefix, "/" and the name
	maxValue  = 63  // of a label
	maxName   = 253 // of an object
	maxChosen = 64  // requirements of a selector, and the values of each
)

// limit bounds what controller-gen takes from the types of Kubernetes, which have no bounds.
func limit(node any) {
	switch node := node.(type) {
	case []any:
		for _, item := range node {
			limit(item)
		}
	case map[string]any:
		for name, value := range node {
			schema, ok := value.(map[string]any)
			switch {
			case ok && name == "jobTemplate":
				limitLists(name, schema)
			case ok && name == "selector":
				limitSelector(schema)
			case ok && name == "variablesFrom":
				limitNames(schema)
			default:
				limit(value)
			}
		}
	}
}

func limitLists(name string, schema map[string]any) {
	if items, ok := schema["items"].(map[string]any); ok {
		setDefault(schema, "maxItems", cmp.Or(maxItems[name], maxOther))
		limitLists("", items)
	}
	if values, ok := schema["additionalProperties"].(map[string]any); ok {
		setDefault(schema, "maxProperties", maxOther)
		limitLists("", values)
	}
	for name, property := range properties(schema) {
		limitLists(name, property.(map[string]any))
	}
}

func limitSelector(schema map[string]any) {
	for name, property := range properties(schema) {
		switch field := property.(map[string]any); name {
		case "matchLabels":
			setDefault(field, "maxProperties", maxChosen)
			setDefault(field["additionalProperties"].(map[string]any), "maxLength", maxValue)
		case "matchExpressions":
			setDefault(field, "maxItems", maxChosen)
			limitSelector(field["items"].(map[string]any))
		case "key", "operator":
			setDefault(field, "maxLength", maxKey)
		case "values":
			setDefault(field, "maxItems", maxChosen)
			setDefault(field["items"].(map[string]any), "maxLength", maxValue)
		}
	}
}

func limitNames(schema map[string]any) {
	if schema["type"] == "string" {
		setDefault(schema, "maxLength", maxName)
	}
	if items, ok := schema["items"].(map[string]any); ok {
		limitNames(items)
	}
	for _, property := range properties(schema) {
		limitNames(property.(map[string]any))
	}
}

func properties(schema map[string]any) map[string]any {
	all, _ := schema["properties"].(map[string]any)
	return all
}

func setDefault(schema map[string]any, keyword string, bound int) {
	if _, ok := schema[keyword]; !ok {
		schema[keyword] = bound
	}
}
