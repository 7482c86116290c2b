package config

import (
	"path/filepath"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/postflight-dev/postflight/test/apiserver"
	"github.com/postflight-dev/postflight/test/poll"
)

const verifiedAnnotation = "postflight.dev/verified"

var (
	tested   = "sha256:" + strings.Repeat("1", 64)
	untested = "sha256:" + strings.Repeat("2", 64)
)

// TestVerifiedImages applies the recipe for clusters that verify no signatures: only an account that may vouch sets the annotation, and
// every image of a pod is in it.
func TestVerifiedImages(t *testing.T) {
	w := newVouchWorld(t)
	shop, init := "registry.example.com/shop@"+tested, func(s *corev1.PodSpec) {
		s.InitContainers = []corev1.Container{{Name: "init", Image: "registry.example.com/shop@" + untested}}
	}
	volume := func(s *corev1.PodSpec) {
		s.Volumes = []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{Image: &corev1.ImageVolumeSource{Reference: "shop@" + untested}}}}
	}
	cases := map[string]struct {
		client   client.Client
		image    string
		verified string
		change   func(*corev1.PodSpec)
		denied   string // a part of the message; empty: admitted
	}{
		"verified":                       {client: w.pipeline, image: shop, verified: tested},
		"one of two digests":             {client: w.pipeline, image: shop, verified: untested + ", " + tested},
		"no annotation":                  {client: w.pipeline, image: shop, denied: shop},
		"another digest":                 {client: w.pipeline, image: shop, verified: untested, denied: shop},
		"a tag":                          {client: w.pipeline, image: "registry.example.com/shop:1", verified: tested, denied: "shop:1"},
		"a tag that looks like a digest": {client: w.pipeline, image: "registry.example.com/shop:sha256-" + tested[7:], verified: tested, denied: "shop:sha256-"},
		"an init container":              {client: w.pipeline, image: shop, verified: tested, change: init, denied: untested},
		"an image as a volume":           {client: w.pipeline, image: shop, verified: tested, change: volume, denied: untested},
		"a developer writes it":          {client: w.developer, image: shop, verified: tested, denied: "right to vouch"},
		"the pipeline of another":        {client: w.stranger, image: shop, verified: tested, denied: "right to vouch"},
	}
	for name, tc := range cases {
		for kind, o := range workloads(w.ns, tc.image, tc.verified, tc.change) {
			err := tc.client.Create(t.Context(), o, client.DryRunAll)
			if tc.denied == "" && err != nil {
				t.Errorf("%s, %s: %v", name, kind, err)
			}
			if tc.denied != "" && (!apierrors.IsForbidden(err) || !strings.Contains(err.Error(), tc.denied)) {
				t.Errorf("%s, %s: %v, want it to be denied because of %q", name, kind, err, tc.denied)
			}
		}
	}
}

// TestVerifiedImagesLater: a developer may scale what was admitted, and change neither its image nor its annotation.
func TestVerifiedImagesLater(t *testing.T) {
	w := newVouchWorld(t)
	admitted := workloads(w.ns, "shop@"+tested, tested, nil)["Deployment"].(*appsv1.Deployment)
	must(t, w.pipeline.Create(t.Context(), admitted))
	for name, tc := range map[string]struct {
		change func(*appsv1.Deployment)
		denied string
	}{
		"scale":                  {func(d *appsv1.Deployment) { d.Spec.Replicas = new(int32(3)) }, ""},
		"another verified image": {func(d *appsv1.Deployment) { d.Spec.Template.Spec.Containers[0].Image = "other@" + tested }, ""},
		"an image":               {func(d *appsv1.Deployment) { d.Spec.Template.Spec.Containers[0].Image = "shop@" + untested }, untested},
		"the annotation":         {func(d *appsv1.Deployment) { d.Spec.Template.Annotations[verifiedAnnotation] += "," + untested }, "right to vouch"},
		"no annotation":          {func(d *appsv1.Deployment) { d.Spec.Template.Annotations = nil }, tested},
	} {
		var d appsv1.Deployment
		must(t, w.developer.Get(t.Context(), client.ObjectKeyFromObject(admitted), &d))
		was := d.DeepCopy()
		tc.change(&d)
		err := w.developer.Patch(t.Context(), &d, client.MergeFrom(was), client.DryRunAll)
		if (err == nil) != (tc.denied == "") || err != nil && !strings.Contains(err.Error(), tc.denied) {
			t.Errorf("%s: %v, want %q", name, err, tc.denied)
		}
	}
	// Without the label, a namespace is as before.
	other := workloads(w.Namespace(t), "shop:1", "", nil)["Deployment"]
	if err := w.developer.Create(t.Context(), other); err != nil {
		t.Error(err)
	}
	// What controllers make of it has the image of the template, and they may not vouch.
	controller := impersonate(t, w.Server, "system:serviceaccount:kube-system:replicaset-controller")
	if err := controller.Create(t.Context(), workloads(w.ns, "shop@"+tested, tested, nil)["Pod"], client.DryRunAll); err != nil {
		t.Error(err)
	}
}

// vouchWorld is a namespace with the policy: the pipeline may vouch in it, the stranger elsewhere, the developer nowhere.
type vouchWorld struct {
	*apiserver.Server
	ns                            string
	pipeline, developer, stranger client.Client
}

func newVouchWorld(t *testing.T) *vouchWorld {
	t.Helper()
	s := apiserver.New(t)
	w := &vouchWorld{Server: s, ns: s.Namespace(t)}
	out, err := s.Kubectl(t, "apply", "--server-side", "-f", filepath.Join(folder(t, ".."), "integrations", "policies", "admission.yaml"))
	if err != nil || strings.Contains(out, "arning") {
		t.Fatal(err, out)
	}
	_, err = s.Kubectl(t, "label", "namespace", w.ns, "postflight.dev/verified-images=required")
	must(t, err)
	elsewhere := s.Namespace(t)
	w.pipeline, w.developer, w.stranger = impersonate(t, s, w.ns+"-pipeline"), impersonate(t, s, w.ns+"-developer"), impersonate(t, s, w.ns+"-stranger")
	for user, namespace := range map[string]string{"pipeline": w.ns, "stranger": elsewhere} {
		must(t, s.Client.Create(t.Context(), &rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "vouch"},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "postflight-vouch"},
			Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: w.ns + "-" + user}},
		}))
	}
	poll.Until(t, "the policy is in force, and the pipeline may vouch", func() string {
		bad := w.pipeline.Create(t.Context(), workloads(w.ns, "shop@"+tested, untested, nil)["Deployment"], client.DryRunAll)
		good := w.pipeline.Create(t.Context(), workloads(w.ns, "shop@"+tested, tested, nil)["Deployment"], client.DryRunAll)
		if good == nil && bad != nil && strings.Contains(bad.Error(), "no verified digest") {
			return ""
		}
		return strings.Join([]string{"bad:", errorText(bad), "good:", errorText(good)}, " ")
	})
	return w
}

func errorText(err error) string {
	if err == nil {
		return "admitted"
	}
	return err.Error()
}

// impersonate returns a user who may change workloads of all namespaces.
func impersonate(t *testing.T, s *apiserver.Server, user string) client.Client {
	t.Helper()
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{GenerateName: "verified-images-"}, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{"", "apps", "batch"}, Resources: []string{"*"}, Verbs: []string{"*"}},
	}}
	must(t, s.Client.Create(t.Context(), role))
	must(t, s.Client.Create(t.Context(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "verified-images-"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
	}))
	config := rest.CopyConfig(s.Config)
	config.Impersonate.UserName = user
	c, err := client.New(config, client.Options{Scheme: s.Scheme})
	must(t, err)
	return c
}

// workloads are objects with one pod template, by kind.
func workloads(ns, image, verified string, change func(*corev1.PodSpec)) map[string]client.Object {
	meta := metav1.ObjectMeta{Namespace: ns, Name: "shop"}
	labels := map[string]string{"app": "shop"}
	template := corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}}
	if verified != "" {
		template.Annotations = map[string]string{verifiedAnnotation: verified}
	}
	template.Spec = corev1.PodSpec{Containers: []corev1.Container{{Name: "shop", Image: image}}}
	if change != nil {
		change(&template.Spec)
	}
	pod := &corev1.Pod{ObjectMeta: *meta.DeepCopy(), Spec: *template.Spec.DeepCopy()}
	pod.Annotations = template.Annotations
	job := template.DeepCopy()
	job.Spec.RestartPolicy = corev1.RestartPolicyNever
	selector := &metav1.LabelSelector{MatchLabels: labels}
	return map[string]client.Object{
		"Pod":         pod,
		"Deployment":  &appsv1.Deployment{ObjectMeta: meta, Spec: appsv1.DeploymentSpec{Selector: selector, Template: *template.DeepCopy()}},
		"StatefulSet": &appsv1.StatefulSet{ObjectMeta: meta, Spec: appsv1.StatefulSetSpec{Selector: selector, Template: *template.DeepCopy()}},
		"Job":         &batchv1.Job{ObjectMeta: meta, Spec: batchv1.JobSpec{Template: *job.DeepCopy()}},
		"CronJob": &batchv1.CronJob{ObjectMeta: meta, Spec: batchv1.CronJobSpec{
			Schedule: "0 3 * * *", JobTemplate: batchv1.JobTemplateSpec{Spec: batchv1.JobSpec{Template: *job.DeepCopy()}},
		}},
	}
}
