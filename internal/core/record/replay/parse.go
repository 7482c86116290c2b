// Package replay reads changed Triggers, and finds out which past notifications they match that the existing ones do not, and the contrary.
package replay

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/text/plaintext"
)

// MaxTriggers bounds the Triggers of a request: each is tried on each notification.
const MaxTriggers = 20

const (
	maxDocuments = 200 // of a file, with those that are no Triggers
	maxCause     = 300 // of a message that quotes a decoder, in bytes
)

// InvalidError says in a sentence, for the author, what is wrong with a request.
type InvalidError struct{ Message string }

func (e *InvalidError) Error() string { return e.Message }

func invalid(format string, args ...any) error { return &InvalidError{fmt.Sprintf(format, args...)} }

// Parse returns the Triggers in the documents of YAML or JSON, and names other objects, which are ignored. The error is an
// *InvalidError. It finds what Go cannot decode; the API server also knows the rules of the schema.
func Parse(content []byte) (triggers []*v1alpha1.Trigger, ignored []string, err error) {
	documents := yaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(content)))
	names := map[string]bool{}
	for i := 1; ; i++ {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil || i > maxDocuments {
			return nil, nil, invalid("The documents cannot be read. Send at most %d, separated by \"---\".", maxDocuments)
		}
		t, other, err := parseDocument(document)
		switch {
		case err != nil:
			return nil, nil, invalid("Document %d: %s", i, err)
		case t == nil && other == "":
			continue
		case t == nil:
			ignored = append(ignored, other)
			continue
		case names[t.Name]:
			return nil, nil, invalid("Document %d: there is another Trigger %q before it. Give each one name.", i, t.Name)
		}
		names[t.Name] = true
		triggers = append(triggers, t)
	}
	switch {
	case len(triggers) == 0:
		return nil, nil, invalid(
			"There is no Trigger in it. Send the manifest of one, with apiVersion: postflight.dev/v1alpha1 and kind: Trigger.")
	case len(triggers) > MaxTriggers:
		return nil, nil, invalid("There are %d Triggers in it, and at most %d are replayed at once.", len(triggers), MaxTriggers)
	}
	return triggers, ignored, nil
}

var strict = json.NewSerializerWithOptions(json.DefaultMetaFactory, scheme(), scheme(), json.SerializerOptions{Yaml: true, Strict: true})

func scheme() *runtime.Scheme {
	s := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(s); err != nil {
		panic(err)
	}
	return s
}

// parseDocument returns neither a Trigger nor another object for an empty document.
func parseDocument(document []byte) (t *v1alpha1.Trigger, other string, err error) {
	var head *struct {
		metav1.TypeMeta `json:",inline"`
		Metadata        struct {
			Name string `json:"name"`
		} `json:"metadata"`
	}
	if err := yaml.Unmarshal(document, &head); err != nil {
		return nil, "", invalid("it is not valid YAML: %s.", cause(err))
	}
	if head == nil {
		return nil, "", nil
	}
	kind := head.GroupVersionKind()
	if kind.Group != v1alpha1.GroupVersion.Group || kind.Kind != "Trigger" {
		return nil, plaintext.Line(kind.Kind+"/"+head.Metadata.Name, maxCause), nil
	}
	if kind.Version != v1alpha1.GroupVersion.Version {
		return nil, "", invalid("its apiVersion is %s, and this server knows %s.", plaintext.Line(head.APIVersion, maxCause),
			v1alpha1.GroupVersion)
	}
	t = &v1alpha1.Trigger{}
	if _, _, err := strict.Decode(document, nil, t); err != nil {
		return nil, "", invalid("the Trigger %q is not valid: %s.", plaintext.Line(head.Metadata.Name, maxCause), cause(err))
	}
	problems := validation.IsDNS1123Subdomain(t.Name)
	switch {
	case len(problems) > 0:
		return nil, "", invalid("the name %q of the Trigger is not valid: %s.", plaintext.Line(t.Name, maxCause), problems[0])
	case t.Spec.Environment == "":
		return nil, "", invalid("the Trigger %q names no Environment; set spec.environment.", t.Name)
	}
	return t, "", nil
}

func cause(err error) string {
	return strings.TrimSuffix(plaintext.Line(err.Error(), maxCause), ".")
}
