# make demo | make test: set up what is missing, build, run. The rest is for working on antegrad.
PRESET ?= release
BUILD := build/$(PRESET)
JOBS ?= $(shell nproc)

.PHONY: demo test build setup bench coverage-of-behaviours format clean

demo: build
	@$(BUILD)/examples/train_gpt

test: build
	@ctest --test-dir $(BUILD) --output-on-failure -j $(JOBS)

build: setup
	@[ -f $(BUILD)/build.ninja ] || cmake --preset $(PRESET)
	@cmake --build $(BUILD) -j $(JOBS)

setup:
	@scripts/setup.sh

bench: build
	@$(BUILD)/benchmarks/antegrad_benchmarks

coverage-of-behaviours:
	@python3 scripts/behaviours.py

format:
	@git ls-files '*.h' '*.cpp' | xargs clang-format -i

clean:
	@rm -rf build
