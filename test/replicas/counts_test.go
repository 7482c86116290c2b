package replicas

import (
	"fmt"
	"slices"
	"sync"
	"time"
)

// counts are the outcomes of many notifications.
type counts struct {
	mu                                 sync.Mutex
	created, duplicate, failed, errors int
	times                              []time.Duration
	first                              string // the first other answer
	ids                                map[string]int
}

func (c *counts) add(a answer, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.times = append(c.times, a.Took)
	switch {
	case err != nil || a.Status != 200 || len(a.Results) != 1:
		c.errors++
		c.setFirst(fmt.Sprintf("%d %s %v", a.Status, a.Body, err))
	case a.Results[0].Created != "":
		c.created++
		c.count(a.Results[0].Created)
	case a.Results[0].Duplicate != "":
		c.duplicate++
		c.count(a.Results[0].Duplicate)
	default:
		c.failed++
		c.setFirst(a.Body)
	}
}

func (c *counts) count(id string) {
	if c.ids == nil {
		c.ids = map[string]int{}
	}
	c.ids[id]++
}

func (c *counts) setFirst(answer string) {
	if c.first == "" {
		c.first = answer
	}
}

// percentile of the times to answer, from 0 to 1.
func (c *counts) percentile(p float64) time.Duration {
	slices.Sort(c.times)
	return c.times[int(p*float64(len(c.times)-1))]
}

func (c *counts) String() string {
	return fmt.Sprintf("created=%d duplicate=%d failed=%d errors=%d", c.created, c.duplicate, c.failed, c.errors)
}
