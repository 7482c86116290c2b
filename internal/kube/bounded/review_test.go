package bounded

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// reviewing is a source of which a namespace has hundreds of objects that are not tracked, and others have one each that has become small.
func reviewing(server *stored, others int) *source {
	s := sourceOf(server)
	s.roster.teams = &teams{owned: map[string]bool{"many": true}, known: make(chan struct{})}
	s.roster.sources = []*source{s}
	for i := range 600 {
		server.triggers = append(server.triggers, inNamespace("many", aTrigger(i, 0)))
	}
	many := s.roster.account(s.book, "many")
	many.seek(s)
	s.reviews.add(many)
	for i := range others {
		namespace := fmt.Sprintf("other-%d", i)
		s.roster.teams.owned[namespace] = true
		small := inNamespace(namespace, aTrigger(i, 0))
		server.triggers = append(server.triggers, small)
		s.roster.admit(s, small.DeepCopy())
		s.roster.begin(s) // it is not held, as if there had been no room
		s.reviews.add(s.book.accounts[namespace])
	}
	return s
}

// runFor follows a stream for some seconds.
func (s *source) runFor(t *testing.T, seconds int) {
	stream := newStream(t.Context(), s, watch.NewProxyWatcher(make(chan watch.Event)), metav1.ListOptions{ResourceVersion: "100000"})
	go stream.run()
	go s.review(stream)
	go func() {
		for range stream.ResultChan() {
		}
	}()
	time.Sleep(time.Duration(seconds) * time.Second)
	stream.Stop()
	synctest.Wait()
}

// TestReviewsTakeTurns: a search for hundreds of objects is not finished before those of other teams are read.
func TestReviewsTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &stored{}
		s := reviewing(server, 5)
		s.runFor(t, 20)
		pages, others, waited := 0, 0, 0
		for _, namespace := range server.asked {
			if namespace == "many" {
				pages++
			} else {
				others, waited = others+1, pages
			}
		}
		if waited > searchedAtOnce/objectPageSize || others != 5 || pages != 60 {
			t.Errorf("%d other namespaces waited for %d of %d pages", others, waited, pages)
		}
		if found := len(s.book.accounts["many"].entries); found != 600 {
			t.Errorf("%d were found, want 600", found)
		}
	})
}

// TestSearchSurvivesErrors: after an error, the search for what is not tracked begins again, and finds all.
func TestSearchSurvivesErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &stored{fails: func(page int) bool { return page == 1 || page == 9 || page == 40 }}
		s := reviewing(server, 0)
		s.runFor(t, 60)
		if found := len(s.book.accounts["many"].entries); found != 600 || s.roster.LeftOutTriggers("many").Unknown {
			t.Errorf("%d were found, want 600, after %d pages", found, len(server.asked))
		}
	})
}

// TestSearchIsOfASource: where each namespace has an informer of its own, that of another namespace does not take a search for done.
func TestSearchIsOfASource(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &stored{}
		s := reviewing(server, 0)
		many := s.book.accounts["many"]
		elsewhere := newSource(s.roster, origin{ListerWatcherWithContext: &stored{}}, s.kind)
		elsewhere.reviews.add(many)
		elsewhere.runFor(t, 5)
		s.runFor(t, 20)
		if found := len(many.entries); found != 600 {
			t.Errorf("%d were found, want 600", found)
		}
	})
}

// TestReviewOutlivesItsStream: what a stream did not finish, the next one does.
func TestReviewOutlivesItsStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &stored{}
		s := reviewing(server, 5)
		for range 30 {
			s.runFor(t, 1)
		}
		held := 0
		for _, a := range s.book.accounts {
			for _, e := range a.entries {
				if e.held {
					held++
				}
			}
		}
		if held != 605 {
			t.Errorf("%d are cached, want 605", held)
		}
	})
}

// TestDroppedAtThePlaceOfTheStream: a reflector whose watch ends continues where the stream was, not at the version of what was dropped.
func TestDroppedAtThePlaceOfTheStream(t *testing.T) {
	s := sourceOf(&stored{})
	stream := newStream(t.Context(), s, watch.NewProxyWatcher(make(chan watch.Event)), metav1.ListOptions{ResourceVersion: "100000"})
	events := stream.marked([]watch.Event{{Type: watch.Deleted, Object: aTrigger(1, 0)}})
	if len(events) != 2 || events[1].Type != watch.Bookmark || events[1].Object.(client.Object).GetResourceVersion() != "100000" {
		t.Errorf("%+v", events)
	}
	if events := stream.marked(nil); len(events) != 0 {
		t.Errorf("%+v", events)
	}
}
