# SPDX-License-Identifier: MIT
# T3's one entry point. `make help` lists what it can do. tools/build/make.py has the targets: what
# each builds and runs. Goals come to it as arguments, variables and make's options by MAKEFLAGS.

MAKEFLAGS += --no-builtin-rules
.DEFAULT_GOAL := targets

.PHONY: $(MAKECMDGOALS) targets
$(MAKECMDGOALS): targets
	@:

targets:
	+@if [ -x /usr/bin/python3 ]; then exec tools/build/make.py $(MAKECMDGOALS); \
	else exec tools/build/bare.sh $(MAKECMDGOALS); fi
