package job

import (
	"encoding/json"
	"math/rand"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/postflight-dev/postflight/api/v1alpha1"
)

var prepared = Prepared{
	Image: "postflight:1", Program: SplitProgram,
	Files: []PreparedFile{
		{Name: "timings.json", Variable: TimingsVariable, Content: []byte("$(HOME) é\n\x00")},
		{Name: "failed.txt", Variable: "POSTFLIGHT_FAILED"},
	},
}

func TestWithPrepared(t *testing.T) {
	trigger := newTrigger(wantsResults, func(t *v1alpha1.Trigger) {
		pod(t).InitContainers = []corev1.Container{{Name: "unpack"}}
		t.Spec.Variables = v1alpha1.Variables{"POSTFLIGHT_SPLIT": "/no"}
	})
	before := WithResults(WithInputs(Build(newSuite(), trigger, newEnvironment()), inputs), ResultsOf(trigger, &collector))
	kept := before.DeepCopy()
	got := WithPrepared(before, prepared).Spec.Template.Spec
	if diff := cmp.Diff(kept, before); diff != "" {
		t.Errorf("the argument has changed: %s", diff)
	}
	var order []string
	for c := range Containers(&got) {
		order = append(order, c.Name)
		mounts := map[string]corev1.VolumeMount{}
		for _, m := range c.VolumeMounts {
			mounts[m.Name] = m
		}
		arrived := kubelet(c.Env)
		switch {
		case c.Name == PrepareContainer:
			if diff := cmp.Diff(map[string]corev1.VolumeMount{"postflight-tools": {Name: "postflight-tools", MountPath: "/tools"}}, mounts); diff != "" {
				t.Errorf("it alone writes, and sees nothing else: %s", diff)
			}
			if diff := cmp.Diff(ownSecurity(nil), c.SecurityContext); diff != "" {
				t.Error(diff)
			}
		case IsOwn(c.Name):
			if _, sees := mounts["postflight-tools"]; sees || arrived["POSTFLIGHT_SPLIT"] != "" {
				t.Errorf("container %q needs no tools: %v", c.Name, mounts)
			}
		default:
			want := corev1.VolumeMount{Name: "postflight-tools", MountPath: "/postflight/tools", ReadOnly: true}
			if diff := cmp.Diff(want, mounts["postflight-tools"]); diff != "" {
				t.Errorf("container %q: %s", c.Name, diff)
			}
			if arrived["POSTFLIGHT_SPLIT"] != "/postflight/tools/postflight-split" || arrived["POSTFLIGHT_TIMINGS"] != "/postflight/tools/timings.json" ||
				arrived["POSTFLIGHT_FAILED"] != "/postflight/tools/failed.txt" {
				t.Errorf("container %q has %v", c.Name, arrived)
			}
		}
	}
	if diff := cmp.Diff([]string{PrepareContainer, CollectContainer, FetchContainer, "unpack", "test"}, order); diff != "" {
		t.Errorf("the files are there before the containers of the template: -want, +got:\n%s", diff)
	}
}

// TestPreparedFiles: the init container reads exactly the content, although Kubernetes expands $(NAME) in variables.
func TestPreparedFiles(t *testing.T) {
	env := kubelet(prepareEnv(prepared))
	if env[PrepareDirectoryVariable] != "/tools" || env[PrepareProgramVariable] != SplitProgram || len(env) != 4 {
		t.Errorf("%v", env)
	}
	for i, name := range []string{"PREPARE_FILE_0", "PREPARE_FILE_1"} {
		var f PackedFile
		if err := json.Unmarshal([]byte(env[name]), &f); err != nil {
			t.Fatal(err)
		}
		content, err := f.Unpack()
		if want := prepared.Files[i]; err != nil || f.Name != want.Name || string(content) != string(want.Content) {
			t.Errorf("%s: %q has %q, %v", name, f.Name, content, err)
		}
	}
}

func TestFits(t *testing.T) {
	noise := make([]byte, 30<<10)
	rand.New(rand.NewSource(1)).Read(noise)
	for name, tc := range map[string]struct {
		content []byte
		want    bool
	}{
		"nothing":                {nil, true},
		"a megabyte of one":      {make([]byte, 1<<20), true},
		"as much as there is":    {noise[:24000], true},
		"more than there can be": {noise, false},
	} {
		if got := Fits(tc.content); got != tc.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

func TestUnpackHostile(t *testing.T) {
	for name, content := range map[string]string{
		"no base64": "!", "no gzip": "AAAA", "cut": pack([]byte("a text"))[:20], "too much": pack(make([]byte, maxUnpacked+1)),
	} {
		if got, err := (PackedFile{Content: content}).Unpack(); err == nil {
			t.Errorf("%s: %d bytes", name, len(got))
		}
	}
}

func TestCheckPrepared(t *testing.T) {
	for name, tc := range map[string]struct {
		trigger *v1alpha1.Trigger
		image   string
		want    string
	}{
		"fine":           {newTrigger(wantsResults), "postflight:1", ""},
		"no image":       {newTrigger(), "", "Ask the operator of Postflight to set --image"},
		"results above":  {newTrigger(resultsIn("/postflight")), "postflight:1", "spec.results.directory /postflight and /postflight/tools"},
		"results below":  {newTrigger(resultsIn("/postflight/tools/out")), "postflight:1", "are inside one another"},
		"results beside": {newTrigger(resultsIn("/postflight/tools2")), "postflight:1", ""},
		"inputs": {newTrigger(func(t *v1alpha1.Trigger) { t.Spec.Inputs = &v1alpha1.Inputs{Directory: "/postflight/tools"} }), "postflight:1",
			"Change spec.inputs.directory and notify again."},
	} {
		if got := CheckPrepared(tc.trigger, tc.image); !strings.Contains(got, tc.want) || (got == "") != (tc.want == "") {
			t.Errorf("%s: %q", name, got)
		}
	}
}

func resultsIn(directory string) func(*v1alpha1.Trigger) {
	return func(t *v1alpha1.Trigger) { t.Spec.Results = &v1alpha1.Results{Directory: directory} }
}
