package bounded

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/run/job"
	"github.com/postflight-dev/postflight/internal/core/run/outcome"
)

// readFrom says on which cached objects the code reads a label or an annotation of Postflight: "Suite", "Job", or "" for neither.
var readFrom = map[string]string{
	"LabelTrigger": "Suite", "LabelEnvironment": "Suite", "LabelShortSHA": "Suite", // a repetition has them, too
	"LabelRestored": "Suite", "LabelRestoredByVelero": "Suite",
	"AnnotationVariablesDigest": "Suite", "AnnotationRepeats": "Suite", "AnnotationRetries": "Suite", "AnnotationAfterInconclusive": "Suite",
	"AnnotationCanceledBy": "Suite", "AnnotationIdempotencyKey": "Suite", "AnnotationRequestID": "Suite", "AnnotationRerunBy": "Suite",
	"AnnotationScheduledFor": "Suite", "AnnotationDeployedAt": "Suite", "AnnotationTraceparent": "Suite", "AnnotationAnswer": "Suite",

	"AnnotationStopRequested": "Job", "AnnotationRequire": "Job", "AnnotationMinTests": "Job", "AnnotationFewerTests": "Job",
	"AnnotationUnderTest": "Job", "AnnotationQuarantines": "Job", "AnnotationFailedPlan": "Job", "AnnotationMemoryOmitted": "Job",

	"LabelRotation": "", "AnnotationHeldBy": "", "AnnotationTerminatedBy": "", "AnnotationRecordsSince": "", // of other kinds
	"LabelDebug": "", "AnnotationDebugContainer": "", "LabelNotBackedUp": "", "LabelAllowedBy": "", // of pods, or for others to read
	"LabelSuite":                 "", // a selector of the API server
	"AnnotationVariablesOmitted": "", // what an author wrote does not count
	"AnnotationTimeout":          "", // StripJob keeps it as the deadline
	"AnnotationTestsDigest":      "", // is read from the API server
}

// TestKeptKeys: the cache keeps the labels and annotations that the code reads, and no others if they are long.
func TestKeptKeys(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "../../../api/v1alpha1/labels.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	want, all := map[string][]string{}, map[string]string{"postflight.dev/x": strings.Repeat("x", 256<<10), "shop.example.com/team": "shop"}
	ast.Inspect(file, func(n ast.Node) bool {
		if c, ok := n.(*ast.ValueSpec); ok {
			kind, known := readFrom[c.Names[0].Name]
			if !known {
				t.Errorf("say in readFrom on which objects the code reads %s, and keep it there", c.Names[0].Name)
			}
			key, _ := strconv.Unquote(c.Values[0].(*ast.BasicLit).Value)
			all[key], want[kind] = "true", append(want[kind], key)
		}
		return true
	})
	if len(all) < 30 {
		t.Fatalf("only %d constants are found", len(all))
	}
	kept := map[string]func(map[string]string) map[string]string{
		"Suite": func(all map[string]string) map[string]string {
			s := &v1alpha1.Suite{ObjectMeta: metav1.ObjectMeta{Annotations: all}}
			stripSuite(s)
			return s.Annotations
		},
		"Job": func(all map[string]string) map[string]string {
			return outcome.StripJob(&batchv1.Job{ObjectMeta: metav1.ObjectMeta{Annotations: all}}).Annotations
		},
	}
	for kind, keep := range kept {
		slices.Sort(want[kind])
		if diff := cmp.Diff(want[kind], slices.Sorted(maps.Keys(keep(all)))); diff != "" {
			t.Errorf("%s: -read +kept\n%s", kind, diff)
		}
	}
}

// hostile has everything that an author can make large of an object's metadata.
func hostile() metav1.ObjectMeta {
	m := metav1.ObjectMeta{
		Namespace: "acme", Name: "run", Labels: map[string]string{}, Annotations: map[string]string{}, Finalizers: []string{large()},
		ManagedFields: []metav1.ManagedFieldsEntry{{Manager: large()}},
	}
	for i := range 1000 {
		m.Labels["label-"+strconv.Itoa(i)], m.Annotations["annotation-"+strconv.Itoa(i)] = "x", "x"
		m.OwnerReferences = append(m.OwnerReferences, metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: strconv.Itoa(i), UID: "u"})
	}
	for _, key := range slices.Concat(suiteKeys, outcome.LargeAnnotations, []string{
		v1alpha1.AnnotationStopRequested, v1alpha1.AnnotationRequire, v1alpha1.AnnotationMinTests, v1alpha1.AnnotationFewerTests, "postflight.dev/x",
	}) {
		m.Annotations[key] = large()
	}
	for _, kind := range []string{"Environment", "Suite"} {
		m.OwnerReferences = append(m.OwnerReferences, metav1.OwnerReference{
			APIVersion: v1alpha1.GroupVersion.String(), Kind: kind, Name: large(), UID: types.UID(large()), Controller: new(true),
		})
	}
	return m
}

func large() string { return strings.Repeat("x", 256<<10) }

// TestHostileSuite: a Suite that was made large takes a few KiB.
func TestHostileSuite(t *testing.T) {
	s := &v1alpha1.Suite{ObjectMeta: hostile()}
	s.Annotations[v1alpha1.AnnotationVariablesOmitted] = "forged"
	admitSuite(NewRoom(variableBytes).Share(), s)
	if size := Size(s); size > 24<<10 {
		t.Errorf("it takes %d bytes", size)
	}
	if len(s.OwnerReferences) > 0 || s.Annotations[v1alpha1.AnnotationVariablesOmitted] != "" {
		t.Errorf("kept %v %v", s.OwnerReferences, s.Annotations[v1alpha1.AnnotationVariablesOmitted])
	}
	if s.Retries() != v1alpha1.MaxRetries || s.Annotations[v1alpha1.AnnotationRepeats] == "" {
		t.Error("a run whose annotation is too long could be retried for ever")
	}
}

// TestOrdinarySuiteStays: records and repetitions have the labels and annotations of people.
func TestOrdinarySuiteStays(t *testing.T) {
	owners := []metav1.OwnerReference{
		{APIVersion: v1alpha1.GroupVersion.String(), Kind: "Environment", Name: "pr-7", UID: "e"},
		{APIVersion: "batch/v1", Kind: "CronJob", Name: "nightly", UID: "c", Controller: new(true)},
	}
	s := &v1alpha1.Suite{ObjectMeta: metav1.ObjectMeta{
		Namespace: "acme", Name: "run", UID: "u", ResourceVersion: "7", Generation: 2, CreationTimestamp: metav1.Now(), DeletionTimestamp: new(metav1.Now()),
		Labels:          map[string]string{v1alpha1.LabelTrigger: "smoke", "shop.example.com/team": "shop"},
		Annotations:     map[string]string{v1alpha1.AnnotationIdempotencyKey: strings.Repeat("k", 255), "shop.example.com/ticket": "SHOP-7"},
		OwnerReferences: owners,
	}}
	was := s.DeepCopy()
	stripSuite(s)
	if diff := cmp.Diff(was, s); diff != "" {
		t.Errorf("-was +is\n%s", diff)
	}
}

// TestHostileJobs: what 500 Jobs remember takes 8 MiB at most, the rest little, and a Job that lacks it says so.
func TestHostileJobs(t *testing.T) {
	share := NewRoom(jobBytes).Share()
	total, omitted := int64(0), 0
	var last *batchv1.Job
	for i := range 500 {
		j := &batchv1.Job{ObjectMeta: hostile()}
		j.Name = "run-" + strconv.Itoa(i)
		pod := &j.Spec.Template.Spec
		pod.Containers = make([]corev1.Container, 1000)
		pod.InitContainers = []corev1.Container{{Name: job.FetchContainer, Image: large()}}
		for k := range 1000 {
			pod.InitContainers[0].Env = append(pod.InitContainers[0].Env, corev1.EnvVar{
				Name: job.FetchFileVariable + strconv.Itoa(k), Value: `{"path":"a` + strconv.Itoa(k) + `","url":"` + strings.Repeat("x", 200) + `"}`,
			})
		}
		admitJob(share, j)
		if j.Annotations[v1alpha1.AnnotationMemoryOmitted] != "" {
			omitted++
			if len(job.InputsOf(j)) > 0 || job.QuarantinesOf(j).Valid() || job.PlanOf(j) != nil {
				t.Fatalf("%s has a part of what it remembers", j.Name)
			}
		}
		total += Size(j)
		last = j
	}
	if most := int64(jobBytes + 500*8<<10); omitted == 0 || total > most {
		t.Errorf("%d bytes are kept, want at most %d; %d Jobs lack what they remember", total, most, omitted)
	}
	share.Drop(types.NamespacedName{Namespace: "acme", Name: "run-0"}, "")
	small := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "acme", Name: last.Name, Annotations: map[string]string{
		v1alpha1.AnnotationUnderTest: "[]", v1alpha1.AnnotationMemoryOmitted: "forged",
	}}}
	admitJob(share, small)
	if small.Annotations[v1alpha1.AnnotationMemoryOmitted] != "" || small.Annotations[v1alpha1.AnnotationUnderTest] == "" {
		t.Errorf("there is room, and the Job has %v", small.Annotations)
	}
	theirs := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "other", Name: "run", Annotations: map[string]string{v1alpha1.AnnotationUnderTest: "[]"}}}
	admitJob(share, theirs)
	if theirs.Annotations[v1alpha1.AnnotationUnderTest] == "" {
		t.Error("a Job of another namespace lacks what it remembers")
	}
}
