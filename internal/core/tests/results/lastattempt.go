package results

// lastAttempts keeps the last test of each identity, with what became of those before. If one of them failed and the last one passed, it is
// flaky. A test that was skipped in the end has failed: no attempt shows that it works. A failure outside of tests is never an attempt at a
// test.
func lastAttempts(all []found) (last []found) {
	newest := map[nameHash]int{} // the index in last
	for i := range all {
		f := &all[i]
		f.index = int32(i)
		at, known := newest[f.identity]
		if f.identity == 0 || !known {
			newest[f.identity] = len(last)
			last = append(last, *f)
			continue
		}
		last[at] = f.after(last[at])
	}
	return last
}

// after returns what became of a test that was repeated.
func (f *found) after(earlier found) found {
	now := *f
	now.retried = earlier.retried
	if earlier.outcome == failed {
		now.retried++
	}
	if now.outcome == skipped && earlier.outcome == failed {
		now.outcome, now.failure = failed, earlier.failure
	}
	if (now.outcome == passed || now.outcome == flaky) && now.retried > 0 {
		now.outcome = flaky
	}
	if now.outcome == flaky && now.flaky == "" {
		now.flaky = earlier.flaky
		if earlier.failure != nil {
			now.flaky = earlier.failure.Name
		}
	}
	return now
}
