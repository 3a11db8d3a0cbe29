# Two commands set everything up on a fresh Debian machine with Rust:
#   make demo   install what is missing, fetch the default weights, build, serve the voice chat
#   make test   everything that must hold before a change lands; CI runs this and nothing else
# Each step says what it does before it does it.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

LISTEN ?= 127.0.0.1:8080
MODEL ?= voice-chat
TARGET := $(or $(CARGO_TARGET_DIR),target)
PROMENADE := $(TARGET)/release/promenade
# What the voice chat is made of, and what the tests use.
WEIGHTS := default whisper-tiny-en smollm2-135m-instruct silero-vad smart-turn
# Tests run the binary of the same profile that they are built with.
PROMENADE_TESTED := $(abspath $(TARGET)/debug/promenade)

say = @printf '\n\033[1m==> %s\033[0m\n' "$(1)"

.PHONY: help demo test check bench deps-demo deps-test page build weights weights-test \
        fmt clippy test-rust test-page test-browser test-clients test-voice

help:
	@echo 'make demo    install what is missing, fetch the weights (252 MB), build, serve the voice chat at http://$(LISTEN)/'
	@echo 'make test    format, lints, all tests, the page in a real browser, a stock client, the voice judged by a recogniser'
	@echo 'make check   format and lints alone'
	@echo 'make bench   the figures of the README, measured here'
	@echo 'variables:   LISTEN=ADDR:PORT  MODEL=toy-voice-chat|toy|path/to/voice.onnx  PROMENADE_CACHE=DIR  CARGO_TARGET_DIR=DIR'

# The toys need no weights.
demo: deps-demo page build $(if $(filter toy%,$(MODEL)),,weights)
	$(call say,serving http://$(LISTEN)/ - open it in a browser; Ctrl-C ends it)
	$(PROMENADE) serve $(MODEL) --listen $(LISTEN)

test: deps-test page weights-test check test-page test-rust test-browser test-clients test-voice
	$(call say,all tests passed)

check: fmt clippy

deps-demo:
	$(call say,looking for what the build needs)
	@.ci/deps demo

deps-test:
	$(call say,looking for what the build and the tests need)
	@.ci/deps test

# The page is embedded in the binary, so it is built first.
page:
	$(call say,building the page (web/dist))
	cd web && npm ci --no-audit --no-fund --loglevel=error && npm run --silent build

build:
	$(call say,building promenade (release; a cold build takes some minutes))
	cargo build --release --locked -p server --bin promenade

weights:
	$(call say,installing the weights of the voice chat (252 MB; kept in the cache folder and checked by SHA-256))
	$(PROMENADE) models install $(WEIGHTS)

# Built as the tests are, so that nothing is compiled twice.
weights-test:
	$(call say,building the workspace for the tests)
	cargo build --locked --workspace --all-targets
	$(call say,installing the weights that the tests use (252 MB; fetched once))
	$(PROMENADE_TESTED) models install $(WEIGHTS)

fmt:
	$(call say,checking the format)
	cargo fmt --all --check

clippy:
	$(call say,checking the lints)
	cargo clippy --locked --workspace --all-targets -- -D warnings

test-rust:
	$(call say,running the Rust tests)
	cargo test --locked --workspace

test-page:
	$(call say,checking and testing the code of the page)
	cd web && npm run --silent check && npm test --silent

test-browser:
	$(call say,the page in a real browser)
	cd tests/browser && npm ci --no-audit --no-fund --loglevel=error
	PROMENADE_BIN=$(PROMENADE_TESTED) node tests/browser/run.mjs

test-clients:
	$(call say,stock and hostile clients)
	PROMENADE_BIN=$(PROMENADE_TESTED) tests/clients/run.sh

test-voice:
	$(call say,thirty unseen sentences, spoken and then written down by a recogniser)
	PROMENADE_BIN=$(PROMENADE_TESTED) tests/compare/intelligibility.py

# Figures, not tests: nothing here fails because a machine is slow.
bench: deps-test build weights
	$(call say,runtime: hops, loops, walks, streams, set-up)
	$(PROMENADE) bench runtime
	$(call say,engine and kernels: chunks, and a language model of random weights)
	cargo bench --locked -p graph -p runtime -p engine -p kernels
	$(call say,voice against ONNX Runtime on the same weights)
	tests/compare/voice_vs_onnxruntime.py || echo '(above its bar)'
	$(call say,server: listeners at once)
	cargo build --release --locked -p loadtest
	PROMENADE_BIN=$(abspath $(PROMENADE)) LOADTEST_BIN=$(abspath $(TARGET)/release/loadtest) loadtest/bench.sh
