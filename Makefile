# make quick is for work in progress. make test runs everything that CI runs. It needs Go and, for the tests against a real HBase,
# a JDK 17 or 21 and mvn.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
HISTORIES ?= 20000
.PHONY: test quick lint tidy vulncheck build crossbuild unit search search-cluster test-secured race poison fuzz microbench profile bench release clean

GOLANGCI  := github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
VULNCHECK := golang.org/x/vuln/cmd/govulncheck@v1.8.0
FUZZTIME  ?= 1000x
CLUSTER   ?= $(CURDIR)/out/cluster
SECURED   ?= $(CURDIR)/out/secured
ALL       := authentication+integrity+privacy
PLATFORMS := linux/arm64 darwin/arm64

# The tests' temporary files are in memory if it has room for them, because the tests sync thousands of small files.
TESTFILES := $(shell { df -P -k /dev/shm; cat /proc/meminfo; } 2>/dev/null | \
  awk '$$6 == "/dev/shm" { room = $$4 } /^MemAvailable:/ && $$2 >= 16*2^20 && room >= 8*2^20 { print "/dev/shm/bulkload$(subst /,-,$(CURDIR))" }')
IN_MEMORY  = $(if $(TESTFILES),rm -rf $(TESTFILES); mkdir -m 700 $(TESTFILES); trap 'rm -rf $(TESTFILES)' EXIT; export TMPDIR=$(TESTFILES);)

build:
	CGO_ENABLED=0 go build -trimpath -ldflags '-s -w' -o bin/bulkload ./cmd/bulkload

# The tests with a cluster mostly wait for its servers. Meanwhile race tests, fuzzing and other builds use the processors, at a
# lower priority, because a server that gets no time loses its session. The check for vulnerabilities is the last of these,
# because it may fail for lack of the database, which says nothing about the rest.
test:
	$(IN_MEMORY) $(MAKE) step-lint step-tidy step-build && $(MAKE) -j2 --output-sync step-unit step-background && $(MAKE) step-bench-last

# The quick tests among those that need neither a cluster nor Java, for work in progress. Those of load wait the longest, so they
# are the first.
quick:
	$(IN_MEMORY) export CGO_ENABLED=0; go build -pgo=off ./... && go vet -pgo=off ./... && (cd tools && go vet -pgo=off ./...) && \
	export CI= BULKLOAD_CLUSTER= BULKLOAD_SECURED= GOGC=400 && \
	tests="go test -short -p 4 -parallel 6 -vet=off -pgo=off -ldflags=-s" && $$tests ./load ./cmd/bulkload ./... && (cd tools && $$tests ./...)

.PHONY: step-background
step-background:
	@nice -n 19 $(MAKE) --no-print-directory step-race step-poison step-fuzz step-crossbuild step-vulncheck

# Runs a target and prints how long it took.
step-%:
	@TIMEFORMAT='step $*: %0R s, %0U s in user and %0S s in system code'; time $(MAKE) --no-print-directory $*

lint:
	@bad=$$(gofmt -l $$(git ls-files '*.go')); if [ -n "$$bad" ]; then echo "not gofmt-clean:"; echo "$$bad"; exit 1; fi
	go run $(GOLANGCI) run ./...
	go vet -tags poison ./internal/poison
	cd tools && go run $(GOLANGCI) run ./...

# go.mod and go.sum name the modules in use, and no others.
tidy:
	go mod tidy -diff
	cd tools && go mod tidy -diff

# Known vulnerabilities in code that this program can reach.
vulncheck:
	.ci/vulncheck go run $(VULNCHECK)
	cd tools && ../.ci/vulncheck go run $(VULNCHECK)

# The program for the other supported platforms; build makes that for linux/amd64. It is built without the profile, which would
# have every package compiled anew.
crossbuild:
	for platform in $(PLATFORMS); do \
	  echo "build $$platform"; \
	  CGO_ENABLED=0 GOOS=$${platform%/*} GOARCH=$${platform#*/} go build -pgo=off -o /dev/null ./cmd/bulkload; \
	done

# A Python that can lint the Airflow example. Without it only that test is skipped, or fails with CI=true.
PYTHON := $(CURDIR)/out/python
$(PYTHON)/bin/pyflakes:
	-python3 -m venv $(PYTHON) && $(PYTHON)/bin/pip install --quiet --disable-pip-version-check pyflakes==3.2.0

# Brings up a real HBase, and one with Kerberos, runs all tests against them, and takes them down, whatever the result. The first
# has two region servers, between which tests move regions.
# The tests of jobs and of its parts take the longest, and those on a cluster mostly wait for its servers, so they run beside the
# other packages: first the cluster tests of jobs itself, then those of its parts, then the other tests of jobs itself (-skip with
# the same names). Of the other packages, those that wait for servers the longest come first, so that none of them is left waiting
# alone at the end.
# golangci-lint has vetted the code. Tests are built without the profile, which would have every package compiled anew.
# Without Java, Maven or a KDC the tests that need a cluster are skipped one by one; with CI=true no test is.
unit: $(PYTHON)/bin/pyflakes
	mkdir -p $(CLUSTER) $(SECURED)
	trap 'go run ./internal/test/testcluster/cluster down -dir $(CLUSTER); go run ./internal/test/testcluster/cluster down -dir $(SECURED)' EXIT; \
	missing() { if [ "$${CI:-}" = true ]; then exit 1; fi; echo "*** No $$1: the tests that need one are skipped."; }; \
	cluster=$(CLUSTER) secured=$(SECURED) python=$(PYTHON)/bin/python; \
	go run ./internal/test/testcluster/cluster up -dir $$cluster -rs 2 || { missing "HBase"; cluster=; }; \
	go run ./internal/test/testcluster/cluster up -dir $$secured -kerberos $(ALL),$(ALL),$(ALL) || { missing "HBase with Kerberos"; secured=; }; \
	[ -e $(PYTHON)/bin/pyflakes ] || { missing "pyflakes"; python=; }; \
	export BULKLOAD_CLUSTER=$$cluster BULKLOAD_SECURED=$$secured BULKLOAD_PYTHON=$$python; \
	tests='go test -count=1 -timeout 45m -vet=off -pgo=off -ldflags=-w'; \
	slow=$$(.ci/cluster-tests names); parts=$$(.ci/cluster-tests packages); \
	{ failed=0; $$tests -parallel 3 -run "$$slow" ./jobs || failed=1; $$tests -p 2 -parallel 2 $$parts || failed=1; \
	  $$tests -skip "$$slow" ./jobs || failed=1; exit $$failed; } & jobs=$$!; \
	first=$$(printf 'bulkload/%s\n' load internal/storage hfilewriter cmd/bulkload internal/test/testcluster); \
	failed=0; $$tests -p 2 -parallel 3 $$first $$(go list ./... | grep -vxF "bulkload/jobs"$$'\n'"$$parts"$$'\n'"$$first") || failed=1; \
	(cd tools && $$tests ./...) || failed=1; \
	wait $$jobs && [ $$failed = 0 ]

# The search for a false "done", longer than make test has time for, on simulated clusters: random histories for the proof that
# loads are readable, and schedules of faults for whole commands, by Go's fuzzer and by rapid.
SCHEDULES ?= 20000
search:
	BULKLOAD_HISTORIES=$(HISTORIES) go test -count=1 -timeout 24h -vet=off -pgo=off -v -run '^TestProofHistories$$' ./jobs/loading
	go test -vet=off -pgo=off -run '^$$' -fuzz '^FuzzSchedules$$' -fuzztime $(SCHEDULES)x -fuzzminimizetime 1x ./jobs
	BULKLOAD_SUITE=search go test -count=1 -timeout 24h -vet=off -pgo=off -v -run '^TestSearch$$' ./jobs -rapid.checks=$(SCHEDULES) | \
	awk '{print; fflush()} /schedules, .* an hour; states reached/ {summary = $$0} END {print summary}'

# A part of an exhaustive search: each fault at each call (133,000 schedules), and each pair of faults of a small load, except
# those that TestEveryPairOfFaults leaves out (some 416,000); four hours of one core in all: make search-faults PART=3/20
PART ?= 1/20
.PHONY: search-faults
search-faults:
	BULKLOAD_PART=$(PART) go test -count=1 -timeout 24h -vet=off -pgo=off -v -run '^TestEvery(Fault|PairOfFaults)$$' ./jobs

# What the search is worth: the parts of the program that prevent a false "done" are removed one by one, and the search must find
# each removal within 10,000 schedules, or the test that TestGuards names for it. GUARD=lock removes only those whose name matches it.
.PHONY: search-guards
search-guards:
	BULKLOAD_SUITE=search-guards BULKLOAD_GUARD='$(GUARD)' go test -count=1 -timeout 24h -vet=off -pgo=off -v -run '^TestGuards$$' ./jobs

# Histories on a real cluster, whose servers are restarted: one test at a time, because all use the same cluster. Also sequences of
# up to 20 steps after which the simulated cluster must answer as the real one. make search-cluster HISTORIES=100
search-cluster: HISTORIES = 30
search-cluster:
	mkdir -p $(CLUSTER)
	trap 'go run ./internal/test/testcluster/cluster down -dir $(CLUSTER)' EXIT; \
	go run ./internal/test/testcluster/cluster up -dir $(CLUSTER) -rs 2 && \
	BULKLOAD_SUITE=search-cluster BULKLOAD_CLUSTER=$(CLUSTER) BULKLOAD_HISTORIES=$(HISTORIES) go test -v -count=1 -timeout 180m -vet=off -pgo=off -p 1 -parallel 1 -run 'ProofHistoriesOnCluster|WhatLosesNoRowsIsNoLoss|AnswersAsHBase' ./jobs/loading ./internal/test/simcluster

# Longer tests on a cluster with Kerberos: every pair of protections, NameNodes that fail over, servers that die, a run of several
# ticket lives, servers that offer only some protections. One package runs after another, because most start a cluster of their
# own. BULKLOAD_CLUSTER also names the secured cluster: TestSecuredHDFS starts one of its own, but only if a cluster is wanted at
# all.
test-secured:
	mkdir -p $(SECURED)
	trap 'go run ./internal/test/testcluster/cluster down -dir $(SECURED)' EXIT; \
	go run ./internal/test/testcluster/cluster up -dir $(SECURED) -kerberos $(ALL),$(ALL),$(ALL); \
	BULKLOAD_SUITE=test-secured BULKLOAD_CLUSTER=$(SECURED) BULKLOAD_SECURED=$(SECURED) go test -count=1 -timeout 45m -p 1 -run Secured ./jobs ./load ./internal/storage

# The Airflow example in real Airflows, each in its own virtual environment. make test has stand-ins for their parts.
AIRFLOWS := 2.10.5 3.1.8
.PHONY: test-airflow
test-airflow:
	for version in $(AIRFLOWS); do \
	  [ -e out/airflow/$$version/bin/airflow ] || { python3 -m venv out/airflow/$$version && out/airflow/$$version/bin/pip install --quiet "apache-airflow==$$version"; }; \
	done
	interpreters=$$(printf '$(CURDIR)/out/airflow/%s/bin/python:' $(AIRFLOWS)); \
	BULKLOAD_AIRFLOW=$${interpreters%:} go test -v -count=1 -timeout 30m -pgo=off -run Airflow ./cmd/bulkload

# Longer tests on YARN: attempts and machines that fail, memory, Kerberos. One test runs after another, because most start a
# cluster of their own.
.PHONY: test-yarn
test-yarn:
	mkdir -p $(CLUSTER)
	BULKLOAD_SUITE=test-yarn BULKLOAD_CLUSTER=$(CLUSTER) go test -v -count=1 -timeout 60m -p 1 -run 'YARN' ./jobs/tasks/yarn ./cmd/bulkload

# Loads while everything else fails, for about an hour: 20 loads of chains, and 20 moments at which a
# server hangs or dies. BULKLOAD_SEED repeats a run. TestClientsDuringALoad is a small one here.
.PHONY: chaos
chaos:
	mkdir -p $(CLUSTER)
	trap 'go run ./internal/test/testcluster/cluster down -dir $(CLUSTER)' EXIT; \
	go run ./internal/test/testcluster/cluster up -dir $(CLUSTER) && \
	BULKLOAD_SUITE=chaos BULKLOAD_CLUSTER=$(CLUSTER) BULKLOAD_MOMENTS=20 go test -v -count=1 -timeout 180m -p 1 -parallel 1 -run 'Chains|ServerHangs|ServerDies|HDFSFails|ZooKeeperStops|ThousandRegions|ClientsDuringALoad|StagingOfTheChecks' ./jobs ./jobs/run/preflight

# How long HBase's clients wait while a load runs: the figures of docs/performance.md. make clients ROWS=1000000
.PHONY: clients
clients:
	mkdir -p $(CLUSTER)
	trap 'go run ./internal/test/testcluster/cluster down -dir $(CLUSTER)' EXIT; \
	go run ./internal/test/testcluster/cluster up -dir $(CLUSTER) -measure && \
	BULKLOAD_SUITE=clients BULKLOAD_CLUSTER=$(CLUSTER) BULKLOAD_ROWS=$(ROWS) go test -v -count=1 -timeout 30m -run ClientsDuringALoad ./jobs

# Each call of storage fails once in runs, loads and tasks (make test draws some), and HBase reads 5,000 files of random settings:
# hours.
.PHONY: exhaustive
exhaustive:
	mkdir -p $(CLUSTER)
	trap 'go run ./internal/test/testcluster/cluster down -dir $(CLUSTER)' EXIT; \
	go run ./internal/test/testcluster/cluster up -dir $(CLUSTER) && \
	BULKLOAD_SUITE=exhaustive BULKLOAD_CLUSTER=$(CLUSTER) go test -v -count=1 -timeout 600m -run 'EveryCall|Recipes' ./jobs ./jobs/tasks ./jobs/loading/cutting ./hfilewriter

# Runs on inputs that are large in other ways than by their rows, for the figures of docs/performance.md.
.PHONY: big
big:
	BULKLOAD_SUITE=big go test -v -count=1 -timeout 60m -run BigCases ./cmd/bulkload

# One process, local tasks and YARN side by side, for docs/performance.md: make yarn-costs ROWS=1000000,5000000
.PHONY: yarn-costs
yarn-costs:
	mkdir -p $(CLUSTER)
	BULKLOAD_SUITE=yarn-costs BULKLOAD_CLUSTER=$(CLUSTER) BULKLOAD_ROWS=$(ROWS) go test -v -count=1 -timeout 120m -run YARNCosts ./cmd/bulkload

# Which wrong lines of a package its tests detect: make mutants PACKAGE=jobs/loading/cutting MUTATE='-n 40 -seed 7'. 40 take about
# an hour.
.PHONY: mutants
mutants:
	@[ -n "$(PACKAGE)" ] || { echo "name a package: make mutants PACKAGE=jobs/loading/cutting"; exit 2; }
	mkdir -p $(CLUSTER)
	$(IN_MEMORY) trap 'go run ./internal/test/testcluster/cluster down -dir $(CLUSTER)$(if $(TESTFILES),; rm -rf $(TESTFILES))' EXIT; \
	go run ./internal/test/testcluster/cluster up -dir $(CLUSTER) -rs 2; \
	BULKLOAD_CLUSTER=$(CLUSTER) .ci/mutants $(PACKAGE) $(MUTATE)

# Runs one of the suites that take too long for CI, on a commit without changes, and writes its line of the table in
# docs/dev/faults.md: make record-chaos, make record-test-secured, make record-test-yarn.
record-%:
	.ci/record $*

# Compares the fields of HBase's messages that internal/hbase/testdata/protos has with the jars of each version.
.PHONY: protos
protos:
	BULKLOAD_SUITE=protos go test -count=1 -timeout 1h -vet=off -pgo=off -run 'TestProtosOfVersions$$' ./internal/hbase

# Tries the versions of HBase and Hadoop in docs/versions.md, and writes its table. It takes about an hour, and goes on after the
# versions that were tried with the same program.
.PHONY: versions
versions:
	BULKLOAD_SUITE=versions go test -v -count=1 -timeout 4h -pgo=off -run 'TestVersions$$' ./cmd/bulkload -update-docs

# The packages that start goroutines or share data between them. CI= and -short skip tests that take long, or need a cluster or a
# missing tool; unit runs these. Whole runs about limits and measurements of memory are skipped, too, because other tests have the
# same goroutines. Of jobs, whose tests run all of them, of hfilewriter and of the command, only the tests with the most parallel
# goroutines run.
THREADS = '"sync"|"sync/atomic"|errgroup|^[[:space:]]*go (func|[a-z])'
THREADED = $(shell grep -rlE --include='*.go' --exclude='*_test.go' $(THREADS) ingest internal/hbase internal/parallel internal/storage internal/throttle jobs load partition | xargs -n1 dirname | sort -u)
MANY_THREADS = 'FoundSchedules|Deterministic|SideBySide|Interrupted|KilledOutputs|EveryCallOfStorage|FullDisks|OutputsResume|DamagedSpill'
LIMITS = 'FilesARegionAreBounded|SiteLimitOfFiles|TooManyFilesAreFoundBeforeWriting|FilesAreCountedAsWritten|LimitOfFilesChanges|WorkFolderInMemory|DiskOfTasks|EstimateIsNotAboveWhatIsTaken|PlanWide|IndexMemory'
OF_THE_INPUT = 'InputContents|ParquetGives'
OF_THE_COMMAND = 'Heartbeat|Bar|Levels|Terminal|Termination|Nohup|Lost|SecondSignal|Metrics|TimesAddUp|KilledLocalTasks|StatusOfTasks|Memory'
RACE = BULKLOAD_CLUSTER= BULKLOAD_SECURED= CI= go test -race -short -count=1 -timeout 30m -vet=off -pgo=off -ldflags=-w
race:
	$(RACE) -skip $(LIMITS) $(addprefix ./,$(filter-out jobs,$(THREADED)))
	$(RACE) -run $(MANY_THREADS) ./jobs
	$(RACE) -run $(OF_THE_INPUT) ./jobs/pipeline/source
	$(RACE) -run 'EveryFailedWrite|RowAtATime' ./hfilewriter
	$(RACE) -run $(OF_THE_COMMAND) ./cmd/bulkload

# Reused buffers are overwritten at the end of their documented lifetimes (package internal/poison), so that a test fails if
# something uses one for longer. Of packages whose tests take long, those run that read back what they wrote. Tests of allocations
# are left out, because the copies that are overwritten must be allocated.
READ_BACK = 'SameRowsSameFiles|TestDeterministic|RowAtATime|WrittenCells|BlockStream$$|NameNodeConn|TransferC|SortIsTheSame|ManyRuns|RegionsCanBeReadAgain|SlicesFollow|Skew|Contents|Give|RejectsCanBeInput|RejectLog'
POISON = BULKLOAD_CLUSTER= BULKLOAD_SECURED= CI= go test -tags poison -short -count=1 -timeout 30m -vet=off -pgo=off -ldflags=-w
poison:
	$(POISON) -run $(READ_BACK) ./jobs ./jobs/pipeline/checkpoint ./jobs/pipeline/sorting ./jobs/pipeline/source ./hfilewriter ./internal/storage ./partition
	$(POISON) -run 'Scan|Probe|Exist' ./load
	$(POISON) -skip Alloc ./ingest ./ingest/csv ./ingest/delimited ./ingest/parquet ./internal/poison ./internal/sasl ./jobs/inspect/lookup ./jobs/inspect/verify ./jobs/pipeline/entry ./jobs/pipeline/hfiles ./jobs/pipeline/writing

# Each fuzz target for a few seconds: make fuzz FUZZTIME=1m for longer. The short run counts inputs, because Go's fuzzer sometimes
# takes the end of its time for a failure.
fuzz:
	.ci/fuzz $(FUZZTIME)

# Every Go benchmark; the one against HBase's own writer needs Java.
microbench:
	go test -run '^$$' -bench . -benchmem ./...

# The profile by which the compiler arranges the hot path (default.pgo: go build uses it automatically). Make it again after
# changes to the hot path, on a quiet machine. A new profile is merged with the previous one, because alone it made the program
# 3 to 4% slower on two machines. GONE is a regular expression of functions that no longer exist: their samples, and those of
# what they called, are left out: make profile GONE='digest.words|tryPut'
profile:
	mkdir -p out
	go test ./jobs -run '^$$' -bench 'Shapes/(check$$|opinion)' -benchtime 12x -cpuprofile out/new.pgo -o out/jobs.test
	go tool pprof -proto $(if $(GONE),-ignore='$(GONE)') -output out/merged.pgo cmd/bulkload/default.pgo out/new.pgo
	mv out/merged.pgo cmd/bulkload/default.pgo

# bulkload beside the Spark job that it replaces, on generated rows in a real HDFS: make bench ROWS=1000000,5000000
ROWS ?= 1000000
bench: build
	go build -C tools -o ../bin/compare ./peer/compare
	bin/compare -rows $(ROWS) -bulkload bin/bulkload -svg docs/compare.svg

# bulkload beside Put and ImportTsv, into a real HBase, for docs/comparison.md. A million rows take forty minutes: make
# bench-put ROWS=1000000
.PHONY: bench-put
bench-put: build
	go build -C tools -o ../bin/compare ./peer/compare
	bin/compare -put -rows $(ROWS) -runs 3 -bulkload bin/bulkload -svg docs/put.svg

# bulkload serve beside HBase's REST server, for docs/performance.md. It takes a quarter of an hour: make bench-serve ROWS=500000
.PHONY: bench-serve
bench-serve: build
	go build -C tools -o ../bin/compare ./peer/compare
	bin/compare -serve -rows $(ROWS) -runs 3 -bulkload bin/bulkload

# What this commit costs compared with the one before it, or uncommitted changes compared with the last commit: both programs
# write a million rows, in turn. It asserts nothing, because machines are busy.
.PHONY: bench-last
bench-last:
	.ci/bench-last

clean:
	rm -rf bin out

# The files of a release of this commit, in out/release: make release VERSION=v1.2.3
release:
	go run -C tools ./release -source .. -version $(VERSION) -out ../out/release
