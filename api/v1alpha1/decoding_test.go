package v1alpha1_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/test/apiserver"
	"github.com/postflight-dev/postflight/test/tier"
)

// nasty are values that look like what a field wants, as JSON, by what the schema says of the field.
// Each is one that some decoder of Go refuses, or a neighbour of such a one.
var nasty = map[string][]string{
	"date-time": quoted(
		"2026-11-20T18:00:00Z", "2026-11-20T18:00:00.1Z", "2026-11-20T18:00:00.123456Z", "2026-11-20T18:00:00.1234567Z", "2026-11-20T18:00:00.1234567890123Z",
		"2026-11-20t18:00:00.123456Z", "2026-11-20T18:00:00.123456z", "2026-11-20 18:00:00.123456Z", "2026-11-20T18:00:00,123456Z", "2026-11-20T18:00:00x123456Z",
		"2026-11-20t18:00:00Z", "2026-11-20T18:00:00z", "2026-11-20T18:00:00", "2026-11-20", "2026-11-20T18:00Z", "2026-11-20T18:00:00.Z",
		"2026-11-20T18:00:00.123456+01:00", "2026-11-20T18:00:00.123456-23:59", "2026-11-20T18:00:00.123456+24:00", "2026-11-20T18:00:00.123456+99:99",
		"2026-11-20T18:00:00+24:00", "2026-11-20T18:00:00+23:60", "2026-11-20T18:00:00+99:99", "2026-11-20T18:00:00+0100", "2026-11-20T18:00:00-00:00",
		"2026-12-31T23:59:60Z", "2026-12-31T23:59:60.000000Z", "2026-11-20T24:00:00.000000Z", "2026-02-29T00:00:00.000000Z", "2026-02-30T00:00:00Z",
		"2026-11-31T00:00:00.000000Z", "2026-13-01T00:00:00.000000Z", "2026-00-00T00:00:00.000000Z", "2024-02-29T00:00:00.000000Z", "2100-02-29T00:00:00.000000Z",
		"0000-01-01T00:00:00.000000Z", "0000-02-29T00:00:00Z", "0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999999Z", "10000-01-01T00:00:00Z",
		"2026-11-20T18:00:00.123456ZT", "2026-11-20T18:00:00ZTtail", "2026-11-20T18:00:00.123456Z\n", "", "null", "now",
	),
	"int-or-string": append(quoted(
		"1e1.5", "1e.5", "1e5.", "1E1.5", "1e99999999999999999999", "1e-99999999999999999999", "1E99999999999999999999", "1e100", "1e99", "1e-99", "1e+9", "1E", "1e", "E",
		".", "5.", ".5", "5.Gi", ".5Ki", "+1", "-1", "00", "1Ki", "1ki", "1K", "1KI", "1 Gi", "0x10", "1.5.5", "", "http", "25%", "1099511627776",
		"99999999999999999999999999999999.99999999999999999999999999999Ei",
	), integers...),
	"integer": append(quoted("1", ""), integers...),
	"string":  quoted("", "x", "null"),
	"pattern": append(quoted("", "x", "0", "1d", "1h", "1.s", ".5s", "-1h", "+1h", "1e3s", "9999999999h", "2562048h", "99999999999999999999999s", "1.99999999999999999999s", "1µs", "1h\n"),
		"7", "true", "null"),
	"boolean": append(quoted("true", ""), "0", "1", "null"),
}

var integers = []string{
	"0", "-0", "-0.0", "1.0", "1.5", "1e2", "1e10", "2147483647", "2147483648", "-2147483648", "-2147483649", "1099511627776", "9007199254740993",
	"9223372036854774784", "9223372036854775295", "9223372036854775296", "9223372036854775806", "9223372036854775807", "9223372036854775808", "9223372036854775808.0", "9223372036854777856", "-9223372036854775808", "-9223372036854775809", "-9223372036854777856",
	"9.223372036854775807e18", "1e19", "-1e19", "99999999999999999999", "1e21", "1e30", "1e300", "1e400", "true", "null",
}

func quoted(all ...string) (values []string) {
	for _, text := range all {
		value, _ := json.Marshal(text)
		values = append(values, string(value))
	}
	return values
}

// TestWhatIsAcceptedDecodes: a watch and a list decode all objects of a kind or none, so one object that
// the API server accepts and Go does not would freeze what the manager knows of every team. Each field
// of each kind is tried with each nasty value: it is refused, or a client of Go can read it. The gate tries one of
// Kubernetes' own fields for each schema that they have.
func TestWhatIsAcceptedDecodes(t *testing.T) {
	s := apiserver.New(t)
	ns := s.Namespace(t)
	api := rawClient(t, s)
	good := map[string]any{"spec/url": "https://staging.example.com", "spec/retention/records": "720h", "spec/repositories/[]": "acme/shop", "spec/webhooks/[]/url": "https://example.com", "spec/results/sizeLimit": "4Gi",
		"spec/ready/http/path": "/version", "spec/ready/http/url": "https://example.com", "spec/ready/http/status": 204, "spec/ready/http/header": "X-Version",
		"spec/ready/http/json/pointer": "/commit", "spec/ready/http/interval": "5s", "spec/schedule/cron": "0 3 * * *", "spec/match/services/[]": "cart",
		"spec/notify/slack/channel": "C0123456789", "status/threads/[]/id": "0123456789abcdef"}
	withInputs := func() fields {
		o := asJSON(t, trigger())
		edits(set("spec/inputs/paths", list{"a"}), set("spec/ready/http/path", "/version"), set("spec/schedule", fields{"cron": "0 3 * * *"}))(o)
		return o
	}
	withWorkload := func() fields {
		o := asJSON(t, environment())
		set("spec/workloads", list{fields{"name": "web"}})(o)
		return o
	}
	cases := map[string]struct {
		base func() fields
		into func() runtime.Object
	}{
		"apikeys":      {apiKey, func() runtime.Object { return &v1alpha1.APIKey{} }},
		"clusters":     {cluster, func() runtime.Object { return &v1alpha1.Cluster{} }},
		"environments": {withWorkload, func() runtime.Object { return &v1alpha1.Environment{} }},
		"suites":       {suite, func() runtime.Object { return &v1alpha1.Suite{} }},
		"teams":        {team, func() runtime.Object { return &v1alpha1.Team{} }},
		"triggers":     {withInputs, func() runtime.Object { return &v1alpha1.Trigger{} }},
	}
	for plural, tc := range cases {
		crd := schemaOf(t, plural)
		stored := store(t, s, object(t, tc.base, set("metadata/name", "stored"), set("metadata/namespace", ns))).GetName()
		path := "/apis/postflight.dev/v1alpha1/namespaces/" + ns + "/" + plural
		if plural == "teams" || plural == "clusters" {
			path = "/apis/postflight.dev/v1alpha1/" + plural
		}
		for at, leaf := range tried(t, crd) {
			top, _, _ := strings.Cut(at, "/")
			if top != "spec" && top != "status" {
				continue // the API server decodes these itself
			}
			t.Run(plural+"/"+at, func(t *testing.T) {
				t.Parallel()
				try := func(value any) rest.Result {
					base := asJSON(t, tc.base())
					if strings.HasPrefix(at, "spec/workloads/[]/selector/") {
						remove("spec/workloads")(base) // a workload has a name or a selector
					}
					if at == "spec/cluster" || strings.HasPrefix(at, "spec/deploymentTypes") {
						remove("spec/workloads")(base) // these are in the other cluster
						set("spec/cluster", "eu")(base)
					}
					if at == "spec/failFast" {
						set("spec/shards", 2)(base) // it stops other shards
					}
					if at == "spec/ready/http/url" {
						remove("spec/ready/http/path")(base) // one of the two
					}
					o := crd.put(base, strings.Split(at, "/"), value).(fields)
					if strings.HasPrefix(at, "status/threads/") && at != "status/threads/[]/id" { // a pattern has no sample
						o["status"].(fields)["threads"].(list)[0].(fields)["id"] = good["status/threads/[]/id"]
					}
					if top == "status" {
						return api.Patch(types.MergePatchType).AbsPath(path, stored, "status").Param("dryRun", "All").
							Body(asText(t, fields{"status": o["status"]})).Do(t.Context())
					}
					return api.Post().AbsPath(path).Param("dryRun", "All").Body(asText(t, o)).Do(t.Context())
				}
				value, ok := good[at]
				if !ok {
					value = leaf.sample()
				}
				if err := try(value).Error(); err != nil {
					t.Errorf("the rest proves nothing: a good value is refused: %v", err)
				}
				for _, value := range nasty[leaf.kind()] {
					result := try(json.RawMessage(value))
					switch err := result.Error(); {
					case err == nil:
						if err := result.Into(tc.into()); err != nil {
							t.Errorf("%s is accepted, and cannot be decoded: %v", value, err)
						}
					case !apierrors.IsInvalid(err) && !apierrors.IsBadRequest(err):
						t.Errorf("%s: %v", value, err)
					}
				}
			})
		}
	}
}

// tried are the fields of a kind, less those of Kubernetes in the gate that differ from another by their name only.
func tried(t *testing.T, crd *schema) map[string]*schema {
	t.Helper()
	all, seen := crd.fields(nil), map[string]bool{}
	for _, at := range slices.Sorted(maps.Keys(all)) {
		if !tier.Gate() || !strings.HasPrefix(at, "spec/jobTemplate/") && !strings.HasPrefix(at, "status/conditions/") {
			continue
		}
		text, err := json.Marshal(all[at])
		if err != nil {
			t.Fatal(err)
		}
		if seen[string(text)] {
			delete(all, at)
		}
		seen[string(text)] = true
	}
	return all
}

// TestIntegersAreBounded: older API servers, that of 1.33 among them, let a number pass that is too large for its format.
func TestIntegersAreBounded(t *testing.T) {
	for _, plural := range []string{"apikeys", "clusters", "environments", "suites", "teams", "triggers"} {
		for at, leaf := range schemaOf(t, plural).fields(nil) {
			least, most := float64(math.MinInt64), math.Nextafter(math.MaxInt64, 0)
			switch {
			case leaf.Format == "int32", leaf.IntOrString && leaf.Pattern == "":
				least, most = math.MinInt32, math.MaxInt32
			case leaf.Type != "integer":
				continue
			}
			if leaf.Minimum == nil || leaf.Maximum == nil || *leaf.Minimum < least || *leaf.Maximum > most {
				t.Errorf("%s: %s may be a number that its Go type cannot hold", plural, at)
			}
		}
	}
}

// TestReceivedAtSaysItsForm: of all fields it is the one that is stricter than a person expects.
func TestReceivedAtSaysItsForm(t *testing.T) {
	submit(t, suite, map[string]row{
		"Kubernetes":   {"the form of other times has no fraction", set("spec/receivedAt", "2026-11-20T18:00:00Z"), `\.\d{6}(Z|`},
		"Milliseconds": {"as JavaScript prints it", set("spec/receivedAt", "2026-11-20T18:00:00.123Z"), `\.\d{6}(Z|`},
		"Microseconds": {"as it is stored", set("spec/receivedAt", "2026-11-20T18:00:00.123456Z"), ""},
		"Offset":       {"a time of elsewhere", set("spec/receivedAt", "2026-11-20T18:00:00.123456-03:30"), ""},
	})
}

// TestQuantities: what the schema takes for a quantity is one, and nothing usual is refused.
func TestQuantities(t *testing.T) {
	limits := strings.Split("spec/jobTemplate/spec/template/spec/containers/[]/resources/limits/*", "/")
	pattern := regexp.MustCompile(schemaOf(t, "triggers").fields(nil)[strings.Join(limits, "/")].Pattern)
	for _, usual := range []string{"0", "1", "500m", "0.5", "1.5Gi", "64Mi", "128974848", "129e6", "129M", "1E", "1E3", "1e-3", "1e+12", "100n", "5u", "2k", "1T", "1P", "1Ei", "-1"} {
		if _, err := resource.ParseQuantity(usual); err != nil || !pattern.MatchString(usual) {
			t.Errorf("%q: matches the schema: %t, error of the decoder: %v", usual, pattern.MatchString(usual), err)
		}
	}
	random, rounds := tier.Random(t), 500_000
	if tier.Gate() {
		rounds = 50_000
	}
	pick := func(from string, most int) (picked string) {
		for range random.IntN(most + 1) {
			picked += string(from[random.IntN(len(from))])
		}
		return picked
	}
	matched := 0
	for range rounds {
		text := pick("+-", 1) + pick("0123456789", 40) + pick(".", 1) + pick("0123456789", 40) + pick("eEiKMGTPnumk", 2) + pick("+-", 1) + pick("0123456789", 22) + pick(".", 1) + pick("0123456789", 2)
		if !pattern.MatchString(text) {
			continue
		}
		matched++
		if _, err := resource.ParseQuantity(text); err != nil {
			t.Errorf("%q matches the schema, and cannot be decoded: %v", text, err)
		}
	}
	if matched < rounds/500 {
		t.Errorf("the rest proves little: only %d quantities were made", matched)
	}
}

func asText(t *testing.T, o fields) []byte {
	t.Helper()
	text, err := json.Marshal(o)
	if err != nil {
		t.Fatal(fmt.Errorf("%v: %w", o, err))
	}
	return text
}

// rawClient sends bytes, and decodes answers as the manager's clients do.
func rawClient(t *testing.T, s *apiserver.Server) rest.Interface {
	t.Helper()
	config := rest.CopyConfig(s.Config)
	config.GroupVersion = &v1alpha1.GroupVersion
	config.APIPath = "/apis"
	config.ContentType = runtime.ContentTypeJSON
	config.NegotiatedSerializer = serializer.NewCodecFactory(s.Scheme).WithoutConversion()
	c, err := rest.RESTClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	return c
}
