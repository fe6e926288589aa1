# SPDX-License-Identifier: MIT
# T3's one entry point. `make help` lists what it can do. tools/build/make.py has the targets: what
# each builds and runs. Goals come to it as arguments, variables and make's options by MAKEFLAGS.

MAKEFLAGS += --no-builtin-rules
.DEFAULT_GOAL := targets

.PHONY: $(MAKECMDGOALS) targets
$(MAKECMDGOALS): targets
	@:

# The targets of `make help`, for shells that complete a target's name: they ask make for its rules.
run shell try gdb check check-all kernels check-matrix machines check-debug check-host \
	check-fresh lint spec-appendix conformance-native conformance-qtest programs mpi \
	cluster torch torch-upstream torch-speed cluster-wide fuzz fuzz-report fuzz-corpus \
	coverage mutants mutants-core soak san-t3 paper bench pictures format python deps \
	tests-image dkms dist deb check-deb series check-series install clean: targets

targets:
	+@if [ -x /usr/bin/python3 ]; then exec tools/build/make.py $(MAKECMDGOALS); \
	else exec tools/build/bare.sh $(MAKECMDGOALS); fi
