# make demo and make test install what is missing, build, and run. The other targets are for working on antegrad.
PRESET ?= release
BUILD := build/$(PRESET)
JOBS ?= $(shell nproc)

.PHONY: demo test test-cuda slowest build configure setup browser install package docs abi try-clean bench bench-peers models fuzz sanitize nightly coverage-of-behaviours format clean

demo: configure
	@cmake --build $(BUILD) -j $(JOBS) --target train_gpt
	@$(BUILD)/examples/train_gpt

test: browser build
	@ctest --test-dir $(BUILD) --output-on-failure -j $(JOBS)

# On a machine with a CUDA device and a LibTorch for CUDA (LIBTORCH=/path); skipped elsewhere.
test-cuda: configure
	@cmake --build $(BUILD) -j $(JOBS) --target cuda_tests_1 workloads_test fusion_fuzz_test gradient_fuzz_test dynamic_fuzz_test
	@ctest --test-dir $(BUILD) --output-on-failure -L cuda

# The slowest steps of the last build and the slowest of the last tests.
slowest:
	@python3 scripts/slowest.py $(BUILD)

build: configure
	@cmake --build $(BUILD) -j $(JOBS)

configure: setup
	@[ -f $(BUILD)/build.ninja ] || cmake --preset $(PRESET)

setup:
	@scripts/setup.sh

# Builds only what is installed: library, command, headers. make install PREFIX=/opt/antegrad
PREFIX ?= /usr/local
install: configure
	@cmake --build $(BUILD) -j $(JOBS) --target antegrad antegrad_cli
	@cmake --install $(BUILD) --prefix $(PREFIX)

package: configure
	@cmake --build $(BUILD) -j $(JOBS) --target antegrad antegrad_cli
	@cpack --config $(BUILD)/CPackConfig.cmake -B build/packages

docs:
	@command -v doxygen >/dev/null || scripts/setup.sh --docs
	@mkdir -p build/docs
	@doxygen docs/Doxyfile
	@echo "build/docs/html/index.html"

abi: configure
	@cmake --build $(BUILD) -j $(JOBS) --target antegrad antegrad_internals
	@scripts/abi_check.sh $(BUILD)

try-clean:
	@scripts/try_clean.sh

browser:
	@scripts/setup.sh --browser

bench: build
	@$(BUILD)/benchmarks/bench_steps --json build/bench.json
	@$(BUILD)/benchmarks/bench_steps --set more --seconds 2 --json build/bench-more.json
	@$(BUILD)/benchmarks/bench_steps --whole --seconds 2 --json build/step.json
	@$(BUILD)/benchmarks/warm_start --json build/warm.json
	@$(BUILD)/benchmarks/bench_kernels
	@$(BUILD)/benchmarks/bench_optimizers
	@$(BUILD)/benchmarks/bench_dynamic
	@$(BUILD)/benchmarks/bench_compiled_autograd
	@$(BUILD)/benchmarks/bench_background
	@$(BUILD)/benchmarks/antegrad_benchmarks --benchmark_min_time=0.2

# DEVICE=cuda: on a CUDA device, with the torch and JAX that python3 has.
bench-peers: build
	@DEVICE=$(DEVICE) scripts/bench_peers.sh $(BUILD)/benchmarks/bench_steps $(BUILD)/benchmarks/warm_start --json build/bench-peers.json

# Models of Python packages, exported and compared (docs/programs.md). The packages take some 6 GB. MODELS="--only hf/gpt2" runs one.
MODELS_PYTHON ?= build/models/bin/python
models: build
	@test -x $(MODELS_PYTHON) || { python3 -m venv build/models && build/models/bin/pip install -q -r scripts/models/requirements.txt; }
	@$(MODELS_PYTHON) scripts/models/compare.py --antegrad $(BUILD)/src/cli/antegrad $(MODELS)

# Random programs with fresh seeds, for FUZZ_SECONDS (600), or FUZZ_PROGRAMS of them. `make test` always uses the same seeds.
fuzz: configure
	@cmake --build $(BUILD) -j $(JOBS) --target fuzz_test gradient_fuzz_test dynamic_fuzz_test fusion_fuzz_test kernel_fuzz_test cuda_emulation_test optimizer_fuzz_test script_test
	@BUILD=$(BUILD) scripts/fuzz.sh

# The suite with AddressSanitizer and UndefinedBehaviorSanitizer, and tests with threads with ThreadSanitizer.
sanitize: setup
	@scripts/sanitize.sh

# Sanitizers, many fresh random programs, and processes that exit, fork or run out of memory. Takes hours.
nightly: setup
	@scripts/nightly.sh

coverage-of-behaviours:
	@python3 scripts/behaviours.py

format:
	@git ls-files '*.h' '*.cpp' | xargs clang-format -i

clean:
	@rm -rf build
