#!/usr/bin/env bash
# Runs the benchmarks that compare two things side by side, and prints a line for each: NAME key=value ...
# All other output goes to stderr.
set -euo pipefail
cd "$(dirname "$0")/.."

figures() { # package, benchmarks, number of runs
  go test "$1" -run '^$' -bench "$2" -benchtime "$3" -timeout 30m |
    tee >(cat >&2) | grep -oE '\b[A-Z][A-Z0-9_]+ [a-z_0-9]+=.*' || { echo "bench: $1 printed no figure" >&2; exit 1; }
}

micro() { # package, benchmarks: the time of one call
  go test "$1" -run '^$' -bench "$2" -benchtime 1s | grep -E '^Benchmark'
}

micro ./internal/core/deployment/notification .
micro ./internal/core/deployment/match BenchmarkIndexMatch
figures ./internal/core/run/queue Queue 1x # a change of the queue, in memory
figures ./cmd/manager . 20000x   # signing upload URLs
figures ./internal/core/tests/split Shards 1x # the slowest of four shards, by the mean of all
figures ./internal/server/api/runs ListRuns 1x # pages of runs, with and without an archive
figures ./internal/server/pages Pages 1x    # the run pages of a team with 10,000 runs
figures ./internal/server/api/handon Memory 1x # a hub in front of 50 clusters with 10,000 runs each
figures ./test/hub . 1x          # answers of a hub beside those of its cluster
figures ./cmd/collect . 1x       # the collector of a pod: size, time and memory
figures ./internal/core/text/mask . 1s      # masking beside compressing, for each byte of a log
figures ./internal/store/archive . 1x  # memory while many logs are saved
figures ./internal/usecase/history . 1x # answers from 10,000 runs of 90 days, and the memory of their summaries
figures ./internal/usecase/replay . 1x # a replay of 10,000 notifications of a week
figures ./test/replicas . 1x      # answers beside raw creates and in a long queue, another team's Jobs, a change of the leader, and what policies cost
figures ./controllers/suite Burst 1x   # Jobs for many Suites beside raw creates
figures ./controllers/suite Queue 1x   # starts a second in a long queue beside a short one, and the leader's CPU time per run
figures ./controllers/suite Stream 1x  # the leader's CPU time per run of a branch that has had many
figures ./controllers/suite Memory 1x  # of a Suite and its Job, in a process without other garbage
figures ./controllers/deployed Workloads 1x # of Deployments that an Environment might name: memory and requests
figures ./controllers/report Report 1x  # checks, after an outage of the code host
figures ./test/e2e . 1x          # on real pods
