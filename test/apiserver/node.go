package apiserver

import (
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Node registers a node for one test, whose kubelet is the handler: the API server asks it for logs, in a path that
// ends in the namespace, the pod and the container. Without a handler the node does not answer.
func (s *Server) Node(t testing.TB, kubelet http.HandlerFunc) string {
	t.Helper()
	server := httptest.NewTLSServer(kubelet)
	address := server.Listener.Addr().(*net.TCPAddr)
	if kubelet == nil {
		server.Close()
	} else {
		t.Cleanup(server.Close)
	}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{GenerateName: "node-"}}
	if err := s.Client.Create(t.Context(), node); err != nil {
		t.Fatalf("create a node: %v", err)
	}
	node.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: address.IP.String()}}
	node.Status.DaemonEndpoints.KubeletEndpoint.Port = int32(address.Port)
	if err := s.Client.Status().Update(t.Context(), node); err != nil {
		t.Fatalf("give the node %s the address %s: %v", node.Name, net.JoinHostPort(address.IP.String(), strconv.Itoa(address.Port)), err)
	}
	return node.Name
}
