package config

import (
	"context"
	"fmt"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/internal/core/run/job"
	"github.com/postflight-dev/postflight/test/poll"
)

// takenOver is the account of the manager in the hands of an attacker, in a cluster with config/default.
type takenOver struct {
	*policyWorld
	manager client.Client
	suite   *v1alpha1.Suite
	trigger *v1alpha1.Trigger
	static  *v1alpha1.Environment
}

func newTakenOver(t *testing.T) *takenOver {
	t.Helper()
	w := &takenOver{policyWorld: newPolicyWorld(t)}
	manager, err := client.New(w.Manager(t), client.Options{Scheme: w.Scheme})
	must(t, err)
	w.manager, w.suite, w.trigger, w.static = manager, aSuite(w.ns, "run"), aTrigger(w.ns), anEnvironment(w.ns, "staging")
	for _, o := range []client.Object{w.static, w.trigger, w.suite, aKey(w.ns), aKey("kube-system"), aKey("postflight-system")} {
		must(t, w.Client.Create(t.Context(), o))
		t.Cleanup(func() { _ = w.Client.Delete(context.Background(), o) })
	}
	stray, unproven, ownerless := w.job(w.Namespace(t)), w.job(w.Namespace(t)), w.job(w.ns)
	ownerless.OwnerReferences = nil
	unproven.Labels[v1alpha1.LabelAllowedBy] = "trigger"
	other := w.podOf(t, "ReplicaSet", "other")
	poll.True(t, "the policies are in force", func() bool {
		return w.manager.Create(t.Context(), w.job(w.ns), client.DryRunAll) == nil &&
			w.manager.Create(t.Context(), stray.DeepCopy(), client.DryRunAll) != nil &&
			w.manager.Create(t.Context(), unproven.DeepCopy(), client.DryRunAll) != nil &&
			w.manager.Create(t.Context(), ownerless.DeepCopy(), client.DryRunAll) != nil &&
			w.manager.Create(t.Context(), anEnvironment(w.ns, "plain"), client.DryRunAll) != nil &&
			w.patch(t, other, `{"spec":{"activeDeadlineSeconds":1}}`) != nil
	})
	return w
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func aKey(ns string) *v1alpha1.APIKey {
	return &v1alpha1.APIKey{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "ci"},
		Spec: v1alpha1.APIKeySpec{SHA256: strings.Repeat("a", 64)}}
}

// job is what the manager creates for the run, or would in another namespace.
func (w *takenOver) job(namespace string) *batchv1.Job {
	j := job.Build(w.suite, w.trigger, w.static)
	j.Namespace = namespace
	return j
}

// podOf is a pod with the label of a run, and a controller of this kind.
func (w *takenOver) podOf(t *testing.T, controller, name string) *corev1.Pod {
	t.Helper()
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: w.ns, GenerateName: name + "-", Labels: map[string]string{v1alpha1.LabelSuite: name},
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "batch/v1", Kind: controller, Name: name, UID: types.UID(name),
			Controller: new(true)}},
	}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "test", Image: "test"}}}}
	must(t, w.Client.Create(t.Context(), p))
	return p
}

// patch tries a merge patch, or a JSON patch, as the manager.
func (w *takenOver) patch(t *testing.T, o client.Object, patch string) error {
	kind := types.MergePatchType
	if strings.HasPrefix(patch, "[") {
		kind = types.JSONPatchType
	}
	return w.manager.Patch(t.Context(), o.DeepCopyObject().(client.Object), client.RawPatch(kind, []byte(patch)), client.DryRunAll)
}

// TestPolicyOfTheManager: the account of the manager can do its task. An attacker who has it can do little more.
func TestPolicyOfTheManager(t *testing.T) {
	w := newTakenOver(t)
	t.Run("its Jobs and pods", w.runs)
	t.Run("its other objects", w.writesItsObjects)
	t.Run("privileged pods where a label allows them", w.privilegedNamespace)
	t.Run("a namespace with a key of nobody", w.markedNamespace)
	t.Run("namespaces of teams", w.allowedNamespaces)
	t.Run("a namespace that was of a team", w.withdrawn)
	t.Run("Jobs elsewhere", w.jobsElsewhere)
	t.Run("Jobs that reach the node", w.jobsOnTheNode)
	t.Run("objects of others", w.objectsOfOthers)
	t.Run("no right at all", w.noRight)
}

func (w *takenOver) runs(t *testing.T) {
	j := w.job(w.ns)
	beta := w.job(w.ns)
	setOwner(beta, "postflight.dev/v1beta1", "Suite")
	must(t, w.manager.Create(t.Context(), beta, client.DryRunAll))
	must(t, w.manager.Create(t.Context(), j))
	must(t, w.patch(t, j, `{"metadata":{"annotations":{"postflight.dev/stop-requested":"2026-01-01T00:00:00Z"}},"spec":{"backoffLimit":0}}`))
	must(t, w.patch(t, w.podOf(t, "Job", "run"), `{"spec":{"activeDeadlineSeconds":1}}`))
	unlabel := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":null}}`)) // an admin may have done so
	must(t, w.Client.Patch(t.Context(), j.DeepCopy(), unlabel))
	must(t, w.patch(t, j, `{"spec":{"backoffLimit":0}}`))
	must(t, w.manager.Delete(t.Context(), j, client.PropagationPolicy(metav1.DeletePropagationBackground)))
}

func (w *takenOver) writesItsObjects(t *testing.T) {
	ephemeral := anEnvironment(w.ns, "pr-1")
	ephemeral.Spec.Ephemeral = &v1alpha1.EphemeralEnvironment{DeploymentURL: "https://pr-1.example.com", ExpiresAt: metav1.Now()}
	must(t, w.manager.Create(t.Context(), ephemeral))
	must(t, w.patch(t, ephemeral, `{"spec":{"ephemeral":{"expiresAt":"2036-01-01T00:00:00Z"}}}`))
	must(t, w.manager.Delete(t.Context(), ephemeral))
	next := aSuite(w.ns, "next")
	must(t, w.manager.Create(t.Context(), next))
	must(t, w.patch(t, next, `{"spec":{"cancel":true}}`))
	must(t, w.manager.Delete(t.Context(), next))
}

func (w *takenOver) privilegedNamespace(t *testing.T) {
	ns := w.Namespace(t)
	label := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"pod-security.kubernetes.io/enforce":"privileged"}}}`))
	must(t, w.Client.Patch(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}}, label))
	must(t, w.Client.Create(t.Context(), aKey(ns)))
	j := w.job(ns)
	j.Spec.Template.Spec.HostNetwork = true
	poll.True(t, "the label is seen", func() bool { // of namespaces it has a cache
		return w.manager.Create(t.Context(), j.DeepCopy(), client.DryRunAll) == nil
	})
}

func (w *takenOver) jobsElsewhere(t *testing.T) {
	stray := w.Namespace(t)
	for name, tc := range map[string]struct {
		namespace string
		change    func(*batchv1.Job)
		reason    string
	}{
		"in kube-system":                          {"kube-system", nil, "namespaces of the system"},
		"in the namespace of the manager":         {"postflight-system", nil, "namespaces of the system"},
		"in a namespace without a key or Trigger": {stray, nil, "no params found"},
		"without a label in such a namespace": {stray, func(j *batchv1.Job) { j.Labels = map[string]string{"a": "b"} },
			"the label postflight.dev/suite"},
		"with the label of another run": {w.ns, func(j *batchv1.Job) { j.Labels[v1alpha1.LabelSuite] = "other" },
			"the label postflight.dev/suite"},
		"owned by nobody": {w.ns, func(j *batchv1.Job) { j.OwnerReferences = nil }, "controller is the Suite"},
		"owned by a Suite that does not control": {w.ns, func(j *batchv1.Job) { j.OwnerReferences[0].Controller = nil },
			"controller is the Suite"},
		"controlled by another kind": {w.ns, func(j *batchv1.Job) { setOwner(j, v1alpha1.GroupVersion.String(), "Trigger") },
			"controller is the Suite"},
		"controlled by a Suite of another group": {w.ns, func(j *batchv1.Job) { setOwner(j, "example.com/v1", "Suite") },
			"controller is the Suite"},
		"controlled by a Suite of a group like it": {w.ns, func(j *batchv1.Job) { setOwner(j, "postflight.dev.example.com/v1", "Suite") },
			"controller is the Suite"},
		"controlled by the Suite of another name": {w.ns, func(j *batchv1.Job) { j.OwnerReferences[0].Name = "other" },
			"controller is the Suite"},
	} {
		t.Run(name, func(t *testing.T) {
			j := w.job(tc.namespace)
			if tc.change != nil {
				tc.change(j)
			}
			refused(t, w.manager.Create(t.Context(), j, client.DryRunAll), tc.reason)
		})
	}
}

// setOwner replaces the kind of the owner, and asks for nothing that needs a right on it.
func setOwner(j *batchv1.Job, version, kind string) {
	j.OwnerReferences[0].APIVersion, j.OwnerReferences[0].Kind, j.OwnerReferences[0].BlockOwnerDeletion = version, kind, nil
}

func (w *takenOver) jobsOnTheNode(t *testing.T) {
	security := func(s corev1.SecurityContext) func(*corev1.PodSpec) {
		return func(p *corev1.PodSpec) { p.Containers[0].SecurityContext = &s }
	}
	for name, tc := range map[string]struct {
		change func(*corev1.PodSpec)
		reason string
	}{
		"network":       {func(p *corev1.PodSpec) { p.HostNetwork = true }, "processes of their node"},
		"processes":     {func(p *corev1.PodSpec) { p.HostPID = true }, "processes of their node"},
		"shared memory": {func(p *corev1.PodSpec) { p.HostIPC = true }, "processes of their node"},
		"port": {func(p *corev1.PodSpec) {
			p.Containers[0].Ports = []corev1.ContainerPort{{ContainerPort: 80, HostPort: 80}}
		}, "processes of their node"},
		"files": {func(p *corev1.PodSpec) {
			p.Volumes = []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/"}}}}
		}, "files of their node"},
		"privileged": {security(corev1.SecurityContext{Privileged: new(true)}), "privileged"},
		"privileged init container": {func(p *corev1.PodSpec) {
			p.InitContainers = []corev1.Container{{Name: "init", Image: "init", SecurityContext: &corev1.SecurityContext{Privileged: new(true)}}}
		}, "privileged"},
		"capability": {security(corev1.SecurityContext{Capabilities: &corev1.Capabilities{Add: []corev1.Capability{"CHOWN", "SYS_ADMIN"}}}),
			"privileged"},
		"unmasked /proc": {func(p *corev1.PodSpec) {
			p.HostUsers = new(false)
			security(corev1.SecurityContext{ProcMount: new(corev1.UnmaskedProcMount)})(p)
		}, "privileged"},
		"capabilities of the baseline": {security(corev1.SecurityContext{Capabilities: &corev1.Capabilities{Add: []corev1.Capability{"CHOWN",
			"KILL"}}}), ""},
	} {
		t.Run(name, func(t *testing.T) {
			j := w.job(w.ns)
			tc.change(&j.Spec.Template.Spec)
			if err := w.manager.Create(t.Context(), j, client.DryRunAll); tc.reason != "" {
				refused(t, err, tc.reason)
			} else if err != nil {
				t.Error(err)
			}
		})
	}
}

func (w *takenOver) objectsOfOthers(t *testing.T) {
	own, foreign := w.job(w.ns), w.job(w.ns)
	foreign.Name, foreign.OwnerReferences = "foreign", nil
	must(t, w.Client.Create(t.Context(), own))
	must(t, w.Client.Create(t.Context(), foreign))
	w.suspend(t, own) // so that the API server itself lets its template change
	ours, theirs := w.podOf(t, "Job", "run"), w.podOf(t, "ReplicaSet", "web")
	claim := fmt.Sprintf(`{"metadata":{"ownerReferences":[{"apiVersion":%q,"kind":"Suite","name":"foreign","uid":"x","controller":true}]}}`,
		v1alpha1.GroupVersion)
	const image = `{"spec":{"containers":[{"name":"test","image":"evil","imagePullPolicy":"Always",` +
		`"terminationMessagePath":"/dev/termination-log",` +
		`"terminationMessagePolicy":"File"}]}}`
	for name, tc := range map[string]struct {
		err    error
		reason string
	}{
		"change the pods of a Job": {w.patch(t, own, `{"spec":{"template":{"spec":{"nodeSelector":{"a":"b"}}}}}`),
			"neither the pods nor the owner"},
		"give a Job away":                     {w.patch(t, own, `{"metadata":{"ownerReferences":null}}`), "controller is the Suite"},
		"change a Job of somebody else":       {w.patch(t, foreign, `{"spec":{"backoffLimit":3}}`), "controller is the Suite"},
		"adopt a Job of somebody else":        {w.patch(t, foreign, claim), "neither the pods nor the owner"},
		"delete a Job of somebody else":       {w.manager.Delete(t.Context(), foreign, client.DryRunAll), "controller is the Suite"},
		"replace the image of a run":          {w.patch(t, ours, image), "activeDeadlineSeconds"},
		"let a pod of a run answer a Service": {w.patch(t, ours, `{"metadata":{"labels":{"app":"shop"}}}`), "activeDeadlineSeconds"},
		"let a pod of a run tolerate all": {w.patch(t, ours, `[{"op":"add","path":"/spec/tolerations/-","value":{"operator":"Exists"}}]`),
			"activeDeadlineSeconds"},
		"end a pod of somebody else":           {w.patch(t, theirs, `{"spec":{"activeDeadlineSeconds":1}}`), "only pods of its runs"},
		"replace the image of somebody else's": {w.patch(t, theirs, image), "only pods of its runs"},
		"create an Environment":                {w.manager.Create(t.Context(), anEnvironment(w.ns, "mine"), client.DryRunAll), "only ephemeral"},
		"change an Environment":                {w.patch(t, w.static, `{"spec":{"url":"https://evil.example.com"}}`), "only ephemeral"},
		"delete an Environment":                {w.manager.Delete(t.Context(), w.static, client.DryRunAll), "only ephemeral"},
	} {
		t.Run(name, func(t *testing.T) { refused(t, tc.err, tc.reason) })
	}
}

func (w *takenOver) suspend(t *testing.T, j *batchv1.Job) {
	t.Helper()
	j.Spec.Suspend = new(true)
	must(t, w.Client.Update(t.Context(), j))
	j.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobSuspended, Status: corev1.ConditionTrue}}
	must(t, w.Client.Status().Update(t.Context(), j))
}

// noRight is what the roles alone refuse, so that the policies need not consider it.
func (w *takenOver) noRight(t *testing.T) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: w.ns, Name: "p"},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}}}
	binding := &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "own"},
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"}}
	key := aKey(w.ns)
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: w.ns, Name: "default"}}
	nothing := client.RawPatch(types.MergePatchType, []byte(`{}`))
	for name, err := range map[string]error{
		"create a pod":             w.manager.Create(t.Context(), pod, client.DryRunAll),
		"delete a pod":             w.manager.Delete(t.Context(), pod, client.DryRunAll),
		"add a container to a pod": w.manager.SubResource("ephemeralcontainers").Patch(t.Context(), pod, nothing, client.DryRunAll),
		"create a Trigger":         w.manager.Create(t.Context(), aTrigger(w.ns), client.DryRunAll),
		"change a Trigger":         w.patch(t, w.trigger, `{"metadata":{"labels":{"a":"b"}}}`),
		"change a key":             w.patch(t, aKey(w.ns), `{"spec":{"suspended":true}}`),
		"create a Team": w.manager.Create(t.Context(), &v1alpha1.Team{ObjectMeta: metav1.ObjectMeta{Name: "kube-system"}},
			client.DryRunAll),
		"create a key":  w.manager.Create(t.Context(), key, client.DryRunAll),
		"read a Secret": w.manager.Get(t.Context(), types.NamespacedName{Namespace: w.ns, Name: "s"}, &corev1.Secret{}),
		"bind a role":   w.manager.Create(t.Context(), binding, client.DryRunAll),
		"label a namespace": w.patch(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.ns}},
			`{"metadata":{"labels":{"a":"b"}}}`),
		"write the status of a Job":    w.manager.Status().Patch(t.Context(), w.job(w.ns), nothing, client.DryRunAll),
		"get a token of an account":    w.manager.SubResource("token").Create(t.Context(), account, &authenticationv1.TokenRequest{}),
		"delete many Jobs at a time":   w.manager.DeleteAllOf(t.Context(), &batchv1.Job{}, client.InNamespace(w.ns), client.DryRunAll),
		"read Secrets of its own home": w.manager.List(t.Context(), &corev1.SecretList{}, client.InNamespace("postflight-system")),
	} {
		t.Run(name, func(t *testing.T) { refused(t, err, "cannot") })
	}
}

func refused(t *testing.T, err error, reason string) {
	t.Helper()
	if !apierrors.IsForbidden(err) && !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), reason) {
		t.Errorf("got %v, want it to be refused because of %q", err, reason)
	}
}
