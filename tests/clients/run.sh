#!/usr/bin/env bash
# Stock and hostile clients against `promenade serve toy-voice-chat`.
# usage: PROMENADE_BIN=target/debug/promenade tests/clients/run.sh
set -euo pipefail
export PYTHONDONTWRITEBYTECODE=1

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
bin=${PROMENADE_BIN:?name the binary to test in PROMENADE_BIN}
venv=$root/.venv

if [ ! -x "$venv/bin/python" ]; then
    echo "making $venv"
    python3 -m venv "$venv"
fi
"$venv/bin/pip" install --quiet --disable-pip-version-check -r "$here/requirements.txt"

folder=$(mktemp -d)
server=
stop() {
    status=$?
    if [ -n "$server" ]; then
        kill "$server" 2>/dev/null || true
        wait "$server" 2>/dev/null || true
    fi
    if [ "$status" -ne 0 ]; then
        echo "--- the end of the server's log"
        tail -n 40 "$folder/log"
    fi
    rm -rf "$folder"
    exit "$status"
}
trap stop EXIT

port=$("$venv/bin/python" -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
address=127.0.0.1:$port
# Short patience, so that waiting for it to end does not take long.
export PROMENADE_LIMITS__HEAD_SECONDS=2 PROMENADE_LIMITS__BODY_SECONDS=2
export PROMENADE_LIMITS__CONFIG_SECONDS=2 PROMENADE_LIMITS__STALL_SECONDS=3
"$bin" serve toy-voice-chat --listen "$address" >"$folder/log" 2>&1 &
server=$!
for _ in $(seq 600); do
    kill -0 "$server" 2>/dev/null || { echo "the server ended before it was ready"; exit 1; }
    if curl -fsS -o /dev/null "http://$address/ready" 2>/dev/null; then break; fi
    sleep 0.1
done

echo "the stock openai client"
failed=0
"$venv/bin/python" "$here/openai_speech.py" "http://$address" || failed=1
"$venv/bin/python" "$here/openai_chat.py" "http://$address" || failed=1
"$venv/bin/python" "$here/openai_realtime.py" "http://$address" || failed=1
echo "another implementation of WebRTC"
"$venv/bin/python" "$here/aiortc_call.py" "http://$address" || failed=1
echo "hostile clients"
"$venv/bin/python" "$here/hostile.py" "$address" --head-seconds 2 --body-seconds 2 --config-seconds 2 --stall-seconds 3 || failed=1
kill -0 "$server" || { echo "the server has ended"; exit 1; }
exit "$failed"
