#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# page.sh - builds the dashboard's page, which the program carries, into web/dist: again when one of
# its sources is newer.
set -euo pipefail
cd "$(dirname "$0")/.."

page=web/dist/index.html
if [ -e $page ] && [ -z "$(find web/src web/*.mjs web/package-lock.json src/*/*_rows.def src/report/colours.def src/tables/stepsview.h -newer $page -print -quit)" ]; then
    exit
fi
for tool in node npm; do
    if ! command -v $tool >/dev/null; then
        echo "page: $tool is missing, and the dashboard's page is built with it" >&2
        exit 1
    fi
done
[ -d web/node_modules/esbuild ] || scripts/setup.sh page
node web/build.mjs
