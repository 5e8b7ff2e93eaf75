# Everything that is done with this repository, by one word each. `make` lists what people type, `make checks` the rest.
# What a target needs is installed when it is missing, see scripts/install.sh.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.PHONY: help checks system demo build test built-tests test-build readme forward exec captures trust tls-table https clusters origins page action-check simulate planted crashes mutations example photos docs lint format static install uninstall deb packages image acceptance control control-fuzz databases stage transfers queue transfer-rates tools bench https-bench soak scale allocations fuzz live forecast-check loss-table loss-lab pictures drawn terminal images clean

# The same flags for the tests and for what they build, so that nothing is built twice; the check keeps the
# arrows between the modules true. The plugin of `make docs` enables all traits, and each has a flag for every module.
TRAITS := --enable-all-traits
# The compiler takes each module as a whole, and emits it in the same run: a fifth less processor time than in batches. With
# WHOLE= in the environment it takes the changed files alone.
WHOLE ?= $(addprefix -Xswiftc ,-whole-module-optimization -no-emit-module-separately-wmo -disable-batch-mode -num-threads 2)
CHECKED := --explicit-target-dependency-import-check error $(TRAITS) $(WHOLE)
RELEASE := .build/release/squall
DEMO := .build/release/squall-demo
# The build for other machines, and where make install puts it.
STATIC ?= .build-static
PREFIX ?= /usr/local
DESTDIR ?=
# With a value, make install overwrites files of other programs.
FORCE ?=
# The defines of two traits come in the order of a set, which is another one in each process, and another order compiles
# everything anew. With this they are in the same order each time.
BUILD := SWIFT_DETERMINISTIC_HASHING=1 swift build
# The modules that compute most are optimized in the build of the tests, see Package.swift.
export SQUALL_OPTIMIZED := 1
example photos: export SQUALL_OPTIMIZED :=
# At most as many tests run at once as there are processors: more would wait for their turn with their clocks running.
TESTS := --skip-build $(CHECKED) --experimental-maximum-parallelization-width $(shell nproc)
# How a target says how long it took: `$(call timed,NAME,COMMAND)`.
timed = scripts/timed.sh '$(1)' env $(2)
# The driver remarks of each module that it isn't compiled in parts. A terminal is left to swift, which draws on it.
QUIET := $(if $(MAKE_TERMOUT),,2>&1 | grep -v 'remark: Incremental compilation')
BUILD_TESTS = $(call timed,test build,$(BUILD) --build-tests $(CHECKED)) $(QUIET)

help: ## list the targets that people type
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{ printf "make %-10s %s\n", $$1, $$2 }'

checks: ## list the targets that check and measure
	@grep -hE '^[a-z-]+:.*#: ' $(MAKEFILE_LIST) | awk -F ':.*#: ' '{ printf "make %-14s %s\n", $$1, $$2 }'

system: action-check readme acceptance forward exec captures trust tls-table https clusters origins tools transfers queue databases stage live fuzz control-fuzz forecast-check page pictures drawn terminal ## run Tests/System: the built command against real programs (two hours)

demo: ## walk out of Wi-Fi range and back with two transfers, and prove both
	@scripts/install.sh build
	@[[ -x $(DEMO) ]] || echo "== building in release mode, without TLS and the control server: the first time takes some 4 minutes on 2 processors"
	@$(call timed,release build,$(BUILD) -c release --product squall-demo)
	@$(DEMO)

build: ## build the command for use: .build/release/squall (some 6 minutes)
	@scripts/install.sh build
	@[[ -x $(RELEASE) ]] || echo "== building in release mode: the first time takes some 6 minutes on 2 processors, and half of it after make demo"
	@$(call timed,release build,$(BUILD) -c release --product squall)

test: ## build and run every test
	@scripts/timed.sh --table $(MAKE) --no-print-directory built-tests

# With SQUALL_BUILT they are built already: to find that out takes 20 s of processor time.
built-tests: $(if $(SQUALL_BUILT),,test-build)
	@$(call timed,tests,scripts/test.sh $(TESTS))

test-build:
	@scripts/install.sh build test
	@$(BUILD_TESTS)

simulate: ## run the proxy in 100,000 simulated worlds
	@scripts/install.sh build
	@$(call timed,release build,$(BUILD) -c release --product simulate)
	@.build/release/simulate --seeds $(or $(SEEDS),100000) --first $(or $(FIRST),1)

planted: #: put bugs into the engine, one after the other: does a simulation find each? (about 20 minutes)
	@scripts/install.sh build
	@python3 scripts/planted.py

# Long runs of drawn cases: in release mode, with their tests alone, else they take hours.
DRAWN := SQUALL_SUITES=ResumableUploadsTests,TLSSessionsTests,TransferClientTests SWIFT_DETERMINISTIC_HASHING=1
DRAWN_BUILD := -c release -Xswiftc -enable-testing --scratch-path .build-drawn

crashes: #: stop 100,000 downloads and uploads between any two calls to a simulated disk (a build of 10 minutes at first, then 10)
	@scripts/install.sh build test
	@$(call timed,test build,$(DRAWN) swift build $(DRAWN_BUILD) --product squallPackageTests)
	@$(DRAWN) SQUALL_DOWNLOAD_RUNS=$(or $(RUNS),100000) SQUALL_UPLOAD_RUNS=$(or $(RUNS),100000) \
		swift test --skip-build $(DRAWN_BUILD) --filter 'Tests[.](Upload)?CrashTests' \
		| grep -E '^(downloads|client uploads|uploads):|✘|↳|Test run with'

mutations: #: put a million changed hellos, flights, records and alerts to sessions of TLS (the same build, then 2 minutes)
	@scripts/install.sh build test
	@$(call timed,test build,$(DRAWN) swift build $(DRAWN_BUILD) --product squallPackageTests)
	@$(DRAWN) SQUALL_TLS_MUTATIONS=$(or $(RUNS),1000000) \
		swift test --skip-build $(DRAWN_BUILD) --filter MutationTests | grep -E '^tls mutations:|✘|↳|Test run with'

kills: #: kill squall serve --state after 200 answers at random: is every answered change kept? (about 5 minutes)
	@scripts/install.sh build test
	@$(BUILD_TESTS)
	@SQUALL_KILLS=$(or $(KILLS),200) swift test --skip-build $(CHECKED) --filter 'StateFileTests.*killed after any answer'

example: #: build and test the package of docs/examples that uses the libraries, as a package of somebody else without TLS (3 minutes at first)
	@scripts/install.sh build
	@scripts/tagged.sh .build-tagged/squall
	@rm -f docs/examples/clients/Package.resolved
# Without the update the build of the last run would take its version again.
	@SQUALL_REPOSITORY="$(CURDIR)/.build-tagged/squall" \
		swift package --package-path docs/examples/clients --scratch-path .build-example update squall
	@$(call timed,example,SQUALL_REPOSITORY="$(CURDIR)/.build-tagged/squall" \
		swift test --package-path docs/examples/clients --scratch-path .build-example $(WHOLE)) $(QUIET)

photos: #: build and test the package of docs/examples that takes uploads with Hummingbird (about 5 minutes at first)
	@scripts/install.sh build
	@rm -f .build-photos/debug.yaml
	@$(call timed,photos,swift test --package-path docs/examples/photos --scratch-path .build-photos)

docs: ## write the tables of pages and the reference of the libraries
	@scripts/install.sh build
	@SWIFT_DETERMINISTIC_HASHING=1 swift run $(TRAITS) $(WHOLE) profile-documents $(QUIET)
	@rm -rf .build-docs
	@SWIFT_DETERMINISTIC_HASHING=1 SQUALL_DOCS=1 swift package $(WHOLE) --allow-writing-to-directory .build-docs generate-documentation \
		$(foreach target,SquallTransfer TransferQueue SquallProxy SquallTesting ResumableUploads HummingbirdResumableUploads,--target $(target)) \
		--enable-experimental-combined-documentation --output-path .build-docs \
		--warnings-as-errors --transform-for-static-hosting $(QUIET)

lint: ## check the format of every Swift file
	@swift format lint --strict --recursive --parallel Package.swift Sources Tests Benchmarks docs/examples
	@find Sources Tests -name '*.swift' -not -path '*/.build*' -exec wc -l {} + | awk '$$1 > 400 && $$2 != "total" { print "== hint: " $$2 " has " $$1 " lines" }'
	@echo "== lint: fine"

format: ## format every Swift file
	@swift format --in-place --recursive --parallel Package.swift Sources Tests Benchmarks docs/examples

static: ## build the command for other machines (some 6 minutes)
	@scripts/install.sh build
	@scripts/install.sh static
	@$(call timed,static build,scripts/static.sh $(STATIC))

install: ## install what make static has built below PREFIX
	@scripts/install.sh install
	@python3 scripts/install_files.py install '$(STATIC)/release/squall' '$(PREFIX)' --destdir '$(DESTDIR)' $(if $(FORCE),--force)

uninstall: ## remove what make install has put below PREFIX
	@python3 scripts/install_files.py uninstall '$(PREFIX)' --destdir '$(DESTDIR)'

deb: static ## make a Debian package of the command
	@scripts/install.sh deb
	@rm -f .build-packages/squall_*.deb
	@scripts/deb.sh $(STATIC)/release/squall .build-packages

packages: deb #: install, use and remove the command: by make install, and by its package in a fresh Debian (as root; 5 minutes)
	@scripts/install.sh packages
	@$(call timed,packages,python3 Tests/System/packages/packages.py $(STATIC)/release/squall .build-packages/squall_*.deb)

image: static ## build the image of docker/Dockerfile and use it (as root)
	@scripts/install.sh image
	@$(call timed,manifests,python3 Tests/System/packages/manifests.py)
	@$(call timed,image,python3 Tests/System/packages/image.py --build)

control: build #: measure the control server: stuck connections, 10,000 changes under load, its speed with the page open (half an hour)
	@scripts/install.sh load page
	@python3 Benchmarks/control.py

control-fuzz: build #: put 100,000 broken and generated requests to the control server: does it stay as it was? (6 minutes)
	@scripts/install.sh control-fuzz
	@python3 Tests/System/control_fuzz.py

databases: build #: change faults while pgbench and redis-benchmark run: is the journal right? (a minute)
	@scripts/install.sh databases
	@python3 Tests/System/databases.py

stage: build #: run `squall test` on PostgreSQL, Redis and gRPC, and kill it 50 times: is it right? (about 2 minutes)
	@scripts/install.sh stage
	@python3 Tests/System/stage.py

page: #: visit the page of `squall serve` and the reports of a stage with a headless Chromium (two minutes)
	@scripts/install.sh build page
	@$(BUILD_TESTS)
	@SQUALL=.build/debug/squall python3 Tests/System/page/run.py
	@SQUALL=.build/debug/squall python3 Tests/System/page/demo.py
	@samples=$$(mktemp -d); trap 'rm -rf "$$samples"' EXIT; \
		SQUALL_REPORT_SAMPLES=$$samples scripts/test.sh --skip-build $(CHECKED) --filter '[.]ReportSamples' >/dev/null; \
		SQUALL=.build/debug/squall python3 Tests/System/page/reports.py "$$samples"

readme: build #: run every command of the documentation: does each do what its page says? (5 minutes) BUSY loops, TIMES each
	@scripts/install.sh readme
	@python3 Tests/System/readme/roles.py --busy $(or $(BUSY),0) --times $(or $(TIMES),1)
	@python3 Tests/System/readme/pages.py

forward: build #: send Chromium, curl, pip and 10,000 broken handshakes through the forward proxy (half a minute)
	@scripts/install.sh forward page
	@SQUALL=$(RELEASE) python3 Tests/System/forward/clients.py

exec: build #: run 33 programs by squall exec, behind four faults each, and connects and ends of all kinds (six minutes)
	@scripts/install.sh exec
	@SQUALL=$(RELEASE) python3 Tests/System/exec/programs.py
	@SQUALL=$(RELEASE) python3 Tests/System/exec/outcomes.py
	@SQUALL=$(RELEASE) python3 Tests/System/exec/signals.py
	@SQUALL=$(RELEASE) python3 Tests/System/exec/ends.py --times 50
	@SQUALL=$(RELEASE) python3 Tests/System/exec/container.py

captures: build #: read captures of every shipped profile, of TLS, of a full disk and after a kill with tshark (2 minutes)
	@scripts/install.sh captures
	@SQUALL=$(RELEASE) python3 Tests/System/captures.py
	@SQUALL=$(RELEASE) python3 Tests/System/captures.py speed

trust: build #: run programs by `squall test` with TLS on both sides: none needs a flag (a minute)
	@scripts/install.sh trust
	@SQUALL=$(RELEASE) python3 Tests/System/https/trust.py

tls-table: build #: what curl, Python, Node, Java and Go say to each failure of TLS, twice (3 minutes)
	@scripts/install.sh trust
	@SQUALL=$(RELEASE) python3 Tests/System/https/table.py

https: build #: put eight clients through TLS on both sides: 2,000 cuts, every profile, handshakes, what ALPN chooses (8 minutes)
	@scripts/install.sh trust
	@SQUALL=$(RELEASE) python3 Tests/System/https/promises.py

clusters: build #: lead clients of a Redis Cluster and of a scripted Kafka broker through proxies (half a minute)
	@scripts/install.sh clusters
	@SQUALL=$(RELEASE) python3 Tests/System/forward/clusters.py

origins: build #: download from Express and nginx through a proxy that cuts at 200 KiB (some seconds)
	@scripts/install.sh origins
	@SQUALL=$(RELEASE) python3 Tests/System/forward/origins.py

pictures: #: compare the pictures of `squall plan` with runs of the same seed, and open them in a Chromium (4 minutes)
	@scripts/install.sh build page
	@$(BUILD_TESTS)
	@SQUALL=.build/debug/squall python3 Tests/System/page/pictures.py

drawn: #: draw every SVG by rsvg-convert, as slides and documents do: is it in color? (a minute)
	@scripts/install.sh build drawn
	@$(BUILD_TESTS)
	@SQUALL=.build/debug/squall python3 Tests/System/page/drawn.py

terminal: #: run the demo and the proxy in tmux at 60 to 200 columns: no wrapped line, no broken word (four minutes)
	@scripts/install.sh build terminal
	@$(BUILD_TESTS)
	@SQUALL=.build/debug/squall python3 Tests/System/terminal/terminal.py

images: build #: draw the pictures of the README and of docs/images from runs, without those of make loss-lab (3 minutes)
	@scripts/install.sh page terminal
	@SQUALL=$(RELEASE) python3 scripts/demo_picture.py
	@$(RELEASE) plan elevator --size 24MiB --seed 7 --svg docs/images/plan-elevator.svg >/dev/null
	@SQUALL=$(RELEASE) python3 Tests/System/page/demo.py --pictures docs/images
	@runs=$$(mktemp -d); trap 'rm -rf "$$runs"' EXIT; \
		SQUALL=$(RELEASE) python3 Tests/System/page/reports.py "$$runs" --pictures docs/images

action-check: #: run the steps of action.yml as a runner of GitHub would, with the command that the tests use
	@scripts/install.sh build action
	@$(BUILD_TESTS)
	@SQUALL=.build/debug/squall python3 Tests/System/action/action.py

acceptance: build #: measure what is promised, between stock programs (a few minutes)
	@scripts/install.sh acceptance
	@python3 Tests/System/acceptance

transfers: build #: cut downloads and uploads everywhere, and kill them at any moment (about 15 minutes)
	@scripts/install.sh transfers
	@python3 Tests/System/transfers.py

queue: build #: kill the queue's daemon 100 times, take from jobs what they need, and let it idle (about 8 minutes; as root)
	@scripts/install.sh queue
	@python3 Tests/System/queue/daemon.py

transfer-rates: build #: measure the memory and speed of downloads and uploads (about 10 minutes)
	@scripts/install.sh transfers
	@python3 Benchmarks/transfer_rates.py

tools: build #: put downloads of curl, wget, aria2, rclone and squall through the same faults (a minute)
	@scripts/install.sh tools
	@python3 Tests/System/tools.py

bench: build ## measure beside HAProxy, nginx and socat (about 27 minutes)
	@scripts/install.sh load bench
	@$(BUILD) -c release --product head-reading
	@python3 Benchmarks/bench.py

https-bench: build #: measure beside HAProxy with TLS on both sides (about 5 minutes)
	@scripts/install.sh https-bench
	@python3 Benchmarks/https.py

soak: build #: a million short connections, and minutes at full rate: flat? (about 5 minutes)
	@scripts/install.sh load
	@python3 Benchmarks/soak.py

scale: build #: measure what a connection, a proxy and a fault cost, into Benchmarks/SCALE.txt (about 6 minutes)
	@scripts/install.sh load
	@python3 Benchmarks/scale.py --write

allocations: build #: count allocations and references for each chunk, under callgrind (about 4 minutes)
	@scripts/install.sh allocations
	@python3 Benchmarks/allocations.py

fuzz: build #: run valid profiles at extreme values under traffic: is everything bounded? (about 3 minutes)
	@python3 Tests/System/fuzz.py

live: build #: change profiles 10,000 times on 1,000 busy connections, and edit rates: no byte lost? (about 5 minutes)
	@python3 Tests/System/live.py

loss-table: #: compare the loss fault with the literature and with real senders, in virtual time
	@scripts/install.sh build
	@$(BUILD) -c release --product loss-comparison
	@.build/release/loss-comparison

loss-lab: build #: measure the loss fault beside the kernel's TCP behind a link that drops packets (as root; about 12 minutes)
	@scripts/install.sh loss-lab
	@$(BUILD) -c release --product loss-link
	@python3 Benchmarks/loss_lab.py

forecast-check: build #: compare the forecast with the run for 200 random profiles (about 5 minutes)
	@python3 Tests/System/forecast_check.py

# Without .build-roots: Debian systems that were downloaded.
clean: ## remove what was built
	@rm -rf .build $(filter-out .build-roots,$(wildcard .build-*))
