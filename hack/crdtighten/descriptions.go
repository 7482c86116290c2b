package main

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
