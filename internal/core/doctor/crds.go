package doctor

import (
	"maps"
	"reflect"
	"slices"
	"strings"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

const checkCRDs = "CRDs"

// kinds are the kinds of this version, by the names of their CRDs.
var kinds = map[string]reflect.Type{
	"apikeys.postflight.dev":           reflect.TypeFor[v1alpha1.APIKey](),
	"deploymentgates.postflight.dev":   reflect.TypeFor[v1alpha1.DeploymentGate](),
	"deploymentreviews.postflight.dev": reflect.TypeFor[v1alpha1.DeploymentReview](),
	"environments.postflight.dev":      reflect.TypeFor[v1alpha1.Environment](),
	"eventsources.postflight.dev":      reflect.TypeFor[v1alpha1.EventSource](),
	"quarantines.postflight.dev":       reflect.TypeFor[v1alpha1.Quarantine](),
	"suites.postflight.dev":            reflect.TypeFor[v1alpha1.Suite](),
	"teams.postflight.dev":             reflect.TypeFor[v1alpha1.Team](),
	"triggerclasses.postflight.dev":    reflect.TypeFor[v1alpha1.TriggerClass](),
	"triggers.postflight.dev":          reflect.TypeFor[v1alpha1.Trigger](),
	"clusters.postflight.dev":          reflect.TypeFor[v1alpha1.Cluster](),
	"trustpolicies.postflight.dev":     reflect.TypeFor[v1alpha1.TrustPolicy](),
}

const (
	applyCRDs = "Apply the CRDs of the manager's version: upgrade the chart with crds.enabled=true, or `kubectl apply -k config/crd`."
	sameCLI   = "Use the postflight command of the manager's version."
)

// CRDs compares the CRDs of the cluster with the types of this version.
func CRDs(found []apiextensions.CustomResourceDefinition) (findings []Finding) {
	byName := map[string]*apiextensions.CustomResourceDefinition{}
	for i := range found {
		byName[found[i].Name] = &found[i]
	}
	for _, name := range slices.Sorted(maps.Keys(kinds)) {
		if crd := byName[name]; crd != nil {
			findings = append(findings, crdFindings(crd)...)
		} else {
			findings = append(findings, failure(checkCRDs, applyCRDs, "The CRD %s is missing.", name))
		}
	}
	if len(findings) == 0 {
		return []Finding{ok(checkCRDs, "All %d have every field of this version, and no others.", len(kinds))}
	}
	return findings
}

func crdFindings(crd *apiextensions.CustomResourceDefinition) (findings []Finding) {
	served := servedVersion(crd)
	if served == nil || served.Schema == nil || served.Schema.OpenAPIV3Schema == nil {
		return []Finding{failure(checkCRDs, applyCRDs, "The CRD %s does not serve %s.", crd.Name, v1alpha1.GroupVersion.Version)}
	}
	if !established(crd) {
		return []Finding{failure(checkCRDs, "`kubectl describe crd "+crd.Name+"` says why.", "The API server does not accept the CRD %s.",
			crd.Name)}
	}
	c := comparison{}
	c.compare("", kinds[crd.Name], served.Schema.OpenAPIV3Schema)
	if len(c.lacking) > 0 {
		findings = append(findings, failure(checkCRDs,
			applyCRDs, "The CRD %s is older than this version: it lacks %s, which the API server drops.", crd.Name, list(c.lacking)))
	}
	if len(c.unknown) > 0 {
		findings = append(findings, warning(checkCRDs, sameCLI, "The CRD %s is newer than this version: it also has %s.", crd.Name,
			list(c.unknown)))
	}
	if others := slices.DeleteFunc(slices.Clone(crd.Status.StoredVersions), isOurs); len(others) > 0 {
		findings = append(findings, warning(checkCRDs, sameCLI, "Objects of the CRD %s are stored as %s, too.", crd.Name, list(others)))
	}
	return findings
}

func isOurs(version string) bool { return version == v1alpha1.GroupVersion.Version }

func servedVersion(crd *apiextensions.CustomResourceDefinition) *apiextensions.CustomResourceDefinitionVersion {
	for i, v := range crd.Spec.Versions {
		if isOurs(v.Name) && v.Served {
			return &crd.Spec.Versions[i]
		}
	}
	return nil
}

func established(crd *apiextensions.CustomResourceDefinition) bool {
	return slices.ContainsFunc(crd.Status.Conditions, func(c apiextensions.CustomResourceDefinitionCondition) bool {
		return c.Type == apiextensions.Established && c.Status == apiextensions.ConditionTrue
	})
}

// comparison holds the paths of fields that only the type, or only the schema has.
type comparison struct{ lacking, unknown []string }

// compare descends only into the types of this API.
func (c *comparison) compare(path string, t reflect.Type, schema *apiextensions.JSONSchemaProps) {
	switch {
	case schema == nil:
	case t.Kind() == reflect.Pointer:
		c.compare(path, t.Elem(), schema)
	case t.Kind() == reflect.Slice && schema.Items != nil:
		c.compare(path+"[]", t.Elem(), schema.Items.Schema)
	case t.Kind() == reflect.Map && schema.AdditionalProperties != nil:
		c.compare(path+"{}", t.Elem(), schema.AdditionalProperties.Schema)
	case t.Kind() == reflect.Struct && t.PkgPath() == kinds["suites.postflight.dev"].PkgPath() && schema.Properties != nil:
		c.compareFields(path, t, schema.Properties)
	}
}

func (c *comparison) compareFields(path string, t reflect.Type, properties map[string]apiextensions.JSONSchemaProps) {
	known := map[string]bool{"apiVersion": path == "", "kind": path == "", "metadata": path == ""}
	for _, f := range fieldsOf(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if known[name] {
			continue
		}
		known[name] = true
		if schema, has := properties[name]; has {
			c.compare(below(path, name), f.Type, &schema)
		} else {
			c.lacking = append(c.lacking, below(path, name))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		if !known[name] {
			c.unknown = append(c.unknown, below(path, name))
		}
	}
}

// fieldsOf returns the JSON fields, including those of embedded types.
func fieldsOf(t reflect.Type) (fields []reflect.StructField) {
	for f := range t.Fields() {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case name == "" && strings.Contains(options, "inline"):
			fields = append(fields, fieldsOf(f.Type)...)
		case name != "" && name != "-":
			fields = append(fields, f)
		}
	}
	return fields
}

func below(path, name string) string { return strings.TrimPrefix(path+"."+name, ".") }
