// Package chart tests charts/postflight with the real helm: what it renders, and what an API server says to that.
package chart
