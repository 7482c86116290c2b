package podfiles

import (
	"hash/maphash"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/lru"
)

// signedFiles are the files for which pods got URLs from this replica, so that a pod cannot ask for more than it may upload.
type signedFiles struct {
	mu   sync.Mutex
	seed maphash.Seed
	pods *lru.Cache // *podFiles by UID
}

// maxSigningPods bounds the pods that are remembered, with up to 40 KiB each. A pod asks during its last minute.
const maxSigningPods = 256

func newSignedFiles() *signedFiles {
	return &signedFiles{seed: maphash.MakeSeed(), pods: lru.New(maxSigningPods)}
}

// update calls do under the lock.
func (s *signedFiles) update(pod types.UID, do func(*podFiles)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	files, known := s.pods.Get(pod)
	if !known {
		files = &podFiles{seed: s.seed, bytes: map[uint64]int64{}}
		s.pods.Add(pod, files)
	}
	do(files.(*podFiles))
}

// podFiles are the files that a pod has stored, or has URLs for.
type podFiles struct {
	seed  maphash.Seed
	bytes map[uint64]int64 // by the hash of the path
	total int64
}

// add counts a file that was signed for two sizes with the larger one, because both URLs are valid.
func (p *podFiles) add(path string, bytes int64) {
	key := maphash.String(p.seed, path)
	earlier, exists := p.bytes[key]
	if !exists || bytes > earlier {
		p.bytes[key] = bytes
		p.total += bytes - earlier
	}
}

// beside is what all other files of the pod take.
func (p *podFiles) beside(path string) usage {
	bytes, exists := p.bytes[maphash.String(p.seed, path)]
	if !exists {
		return usage{len(p.bytes), p.total}
	}
	return usage{len(p.bytes) - 1, p.total - bytes}
}

type usage struct {
	count int
	bytes int64
}

func (u usage) plus(other usage) usage { return usage{u.count + other.count, u.bytes + other.bytes} }
