#!/usr/bin/env bash
# The load figures of the README: listeners of the real voice, and the server's own share with the toy.
# usage: PROMENADE_BIN=target/release/promenade LOADTEST_BIN=target/release/loadtest loadtest/bench.sh [SECONDS]
set -euo pipefail

bin=${PROMENADE_BIN:?name the server binary in PROMENADE_BIN}
load=${LOADTEST_BIN:?name the load test binary in LOADTEST_BIN}
seconds=${1:-60}
address=127.0.0.1:${PORT:-8391}
url=http://$address
server=

serve() { # MODEL...
    "$bin" serve "$@" --listen "$address" &
    server=$!
    for _ in $(seq 600); do
        kill -0 "$server" 2>/dev/null || { echo "the server ended before it was ready" >&2; exit 1; }
        if curl -fsS -o /dev/null "$url/ready" 2>/dev/null; then return; fi
        sleep 0.1
    done
    echo "the server did not get ready" >&2
    exit 1
}
stop() {
    if [ -n "$server" ]; then kill "$server" 2>/dev/null || true; wait "$server" 2>/dev/null || true; fi
    server=
}
trap stop EXIT

serve
echo "--- one listener after the other, and more at once"
"$load" tts --url "$url" --concurrency 1,2,4 --duration "$seconds" || echo "(this run did not count: exit $?)"
echo "--- the most listeners in real time"
"$load" tts --url "$url" --find-capacity --duration "$seconds" || echo "(this run did not count: exit $?)"
stop

serve toy
echo "--- the server's own share with 200 open streams"
"$load" overhead --url "$url" --model toy --open 200 || echo "(this run missed its bar or did not count: exit $?)"
