package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// imageOfPods is the image of the containers that Postflight adds to the pods of runs. Without a store, few runs need it, and it may be
// empty.
func imageOfPods(ctx context.Context, c client.Reader, log logr.Logger, o options) (string, error) {
	if o.store.image != "" {
		return o.store.image, nil
	}
	image, err := ownImage(ctx, c, o)
	if err != nil && !o.store.configured() {
		log.Info("runs whose Trigger has ready.http cannot start", "reason", err.Error())
		return "", nil
	}
	return image, err
}

// ownImage is the image of the manager's own pod, so that an overlay that changes the Deployment's image need not
// change it in a second place.
func ownImage(ctx context.Context, c client.Reader, o options) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	pod := &corev1.Pod{}
	name := client.ObjectKey{Namespace: o.namespace(), Name: os.Getenv("POD_NAME")}
	if name.Name == "" {
		return "", errors.New("set --image, with which pods download run inputs and wait for their version: " +
			"without $POD_NAME, the manager cannot find its own image")
	}
	if err := c.Get(ctx, name, pod); err != nil {
		return "", fmt.Errorf("read the image of the manager's own pod (set --image to avoid that): %w", err)
	}
	for _, container := range pod.Spec.Containers {
		if container.Name == "manager" || len(pod.Spec.Containers) == 1 {
			return container.Image, nil
		}
	}
	return "", fmt.Errorf("the pod %s has no container named manager; give --image", name)
}
