package peers

import (
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/yaml"

	"github.com/postflight-dev/postflight/api/v1alpha1"
	"github.com/postflight-dev/postflight/test/build"
)

// scenario is what Kueue's runner generates. It is read from the file that Kueue ships.
type scenario struct {
	Cohorts []struct {
		Count      int         `json:"count"`
		QueuesSets []queuesSet `json:"queuesSets"`
	} `json:"cohorts"`

	file string
}

type queuesSet struct {
	Count         int               `json:"count"`
	NominalQuota  resource.Quantity `json:"nominalQuota"`
	WorkloadsSets []workloadsSet    `json:"workloadsSets"`
}

type workloadsSet struct {
	Count              int   `json:"count"`
	CreationIntervalMs int64 `json:"creationIntervalMs"`
	Workloads          []struct {
		ClassName string            `json:"className"`
		RuntimeMs int64             `json:"runtimeMs"`
		Request   resource.Quantity `json:"request"`
	} `json:"workloads"`
}

// readScenario writes it to a file, smaller if that is asked for.
func readScenario(b *testing.B) (sc scenario) {
	b.Helper()
	peer(b, "kueue-runner") // the file comes with it
	var all map[string]any
	must(b, yaml.Unmarshal([]byte(read(b, "bin", "peers", "kueue-scenario", "generator.yaml")), &all))
	shrink(all)
	content, err := yaml.Marshal(all)
	must(b, err)
	must(b, yaml.Unmarshal(content, &sc))
	sc.file = write(b, b.TempDir(), "generator.yaml", content)
	return sc
}

func shrink(node any) {
	switch node := node.(type) {
	case []any:
		for _, each := range node {
			shrink(each)
		}
	case map[string]any:
		if count, ok := node["count"].(float64); ok && node["workloads"] != nil {
			node["count"] = benchSize(int(count))
		}
		for _, each := range node {
			shrink(each)
		}
	}
}

// queues are all queues, each of which is a Team here.
func (sc scenario) queues() (all []queuesSet) {
	for _, cohort := range sc.Cohorts {
		for range cohort.Count {
			for _, set := range cohort.QueuesSets {
				all = append(all, slices.Repeat([]queuesSet{set}, set.Count)...)
			}
		}
	}
	return all
}

func (sc scenario) runs() (n int) {
	for _, q := range sc.queues() {
		for _, w := range q.WorkloadsSets {
			n += w.Count * len(w.Workloads)
		}
	}
	return n
}

// slots is how many runs of a team may run at once, so that they need no more of the CPU than the quota of the queue allows, on the average
// of their run times. A slot has no size.
func (q queuesSet) slots() int32 {
	var busy, cpu float64
	for _, w := range q.WorkloadsSets {
		for _, class := range w.Workloads {
			busy += float64(w.Count) * float64(class.RuntimeMs)
			cpu += float64(w.Count) * float64(class.RuntimeMs) * class.Request.AsApproximateFloat64()
		}
	}
	return int32(q.NominalQuota.AsApproximateFloat64() * busy / cpu)
}

// triggers are those of a team, one for each class, and how long its tests take.
func (sc scenario) triggers() (triggers []*v1alpha1.Trigger, lasts map[string]time.Duration) {
	lasts = map[string]time.Duration{}
	for _, w := range sc.queues()[0].WorkloadsSets {
		for _, class := range w.Workloads {
			lasts[class.ClassName] = time.Duration(class.RuntimeMs) * time.Millisecond
			triggers = append(triggers, build.Trigger(class.ClassName, func(t *v1alpha1.Trigger) {
				t.Spec.Match.DeploymentTypes = []string{class.ClassName}
			}))
		}
	}
	return triggers, lasts
}
