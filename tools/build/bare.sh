#!/bin/bash
# SPDX-License-Identifier: MIT
# make on a machine that has no Python yet, as a new Debian: the packages of `make run` come first. An
# installation installs none. Usage: bare.sh GOAL...
set -euo pipefail
stage=$(dirname "$0")
case "$*" in
'' | help) exec sed -n 's/^ *#: \?//p' "$stage/make.py" ;;
*install* | dist | *clean)
	echo "t3: make $* needs Python: apt-get install python3" >&2
	exit 1
	;;
esac
"$stage/deps.sh" run
exec "$stage/make.py" "$@"
