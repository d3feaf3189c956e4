#!/usr/bin/env bash
# Failover of a streaming pair of PostgreSQL servers without losing an acknowledged write: docs/recovery.md.
# Needs bash 5, psql and pg_isready; `rejoin` also the server's own programs.
set -uo pipefail

usage() {
  cat <<'END'
failover.sh - a standby takes the place of a primary, and no acknowledged write is lost

  failover.sh check   --standby URL --primary URL [--state FILE] [--every SECONDS]
  failover.sh promote --standby URL --primary URL --state FILE --fence COMMAND
  failover.sh rejoin  --data DIRECTORY --primary URL --name NAME
  failover.sh alone   --primary URL --state FILE

check     Tells whether the primary waits for the standby at each commit. Exit code 0: a failover now would lose nothing.
          --state FILE   notes the result; promote uses it if the primary no longer answers
          --every N      goes on, every N seconds
promote   Fences the primary, promotes the standby, and waits until it takes writes. Changes nothing before the fence has
          held. The primary may be up (a planned exchange) or lost; if it is lost,
          the state file has what was last known of it.
          --fence COMMAND       stops the primary for good: "ssh db1 systemctl disable --now postgresql", or its power.
                                Exit code 0 must mean that it is stopped.
          --primary-is-off      in place of --fence: you know that it is off, and stays off
          --peer URL            another standby; needed where synchronous_standby_names names several, as any may have the
                                last write
          --within SECONDS      how old the state may be (600)
          --accept-loss         goes on where acknowledged writes may be lost, and says how many seconds of them
rejoin    Makes a stopped server the standby of the new primary. Run it at the old primary, under the account
          that owns its data.
          pg_rewind fetches what differs; the server's own configuration files stay.
          --stream URL          what the standby streams by, if not by the URL of --primary
          --bin DIRECTORY       where pg_ctl and pg_rewind are, if not in the PATH
          --config FILE         postgresql.conf, where it is not among the data, as in Debian
          --start COMMAND       starts the server, in place of pg_ctl: "sudo systemctl enable --now postgresql"
          --copy                copies all by pg_basebackup, where pg_rewind cannot. The old data are put aside.
          --copy-with COMMAND   the same by a command, which finds the empty directory in $PGDATA
          --synchronous NAMES   synchronous_standby_names of the primary afterwards; usually ANY 1 (NAME) if it has none
alone     The standby is lost and every commit hangs: lets the primary go on without it. From then on the standby must not
          be promoted; alone notes that for promote. check says when promotion is safe again.
          --state FILE          the note that check has written: run it on the machine of the standby
          --standby-is-off      in place of --state: you know that the standby is off, so that nobody promotes it by its note
          --patience SECONDS    of any command: how long what should happen may take (60)
          --name NAME           of any command: what the standby calls itself, if not by its primary_conninfo

URL: a connection of one server as a superuser, as psql takes it. Keep passwords in ~/.pgpass: command lines can be seen.
Exit codes: 0 done; 1 refused, or not safe; 2 a wrong command line; 3 failed halfway, with what to do now.
END
}

misused() {
  printf 'failover.sh: %s\nfailover.sh --help tells how it is used.\n' "$1" >&2
  exit 2
}
say() { printf '%s  %s\n' "$(date -u +%H:%M:%S)" "$1"; }
refuse() {
  printf 'REFUSED: %s\n' "$1" >&2
  exit 1
}
fail() {
  printf 'FAILED: %s\n' "$1" >&2
  exit 3
}

standby='' primary='' state='' fence='' is_off='' standby_is_off='' accepts_loss='' within=600 every='' patience=60 name=''
data='' stream='' bin='' config='' start='' copy='' synchronous='' peers=()

read_options() {
  while [ $# -gt 0 ]; do
    case $1 in
      --help | -h) usage && exit 0 ;;
      --primary-is-off) is_off=yes && shift && continue ;;
      --standby-is-off) standby_is_off=yes && shift && continue ;;
      --accept-loss) accepts_loss=yes && shift && continue ;;
      --copy) copy=pg_basebackup && shift && continue ;;
    esac
    [ $# -ge 2 ] || misused "$1: is unknown, or its value is missing"
    case $1 in
      --standby) standby=$2 ;;
      --primary) primary=$2 ;;
      --peer) peers+=("$2") ;;
      --state) state=$2 ;;
      --fence) fence=$2 ;;
      --within) within=$2 ;;
      --every) every=$2 ;;
      --patience) patience=$2 ;;
      --name) name=$2 ;;
      --data) data=${2%/} ;;
      --stream) stream=$2 ;;
      --bin) bin=${2%/} ;;
      --config) config=$2 ;;
      --start) start=$2 ;;
      --copy-with) copy=$2 ;;
      --synchronous) synchronous=$2 ;;
      *) misused "$1: is unknown" ;;
    esac
    [ -n "$2" ] || misused "$1: is empty"
    shift 2
  done
  local number url
  for number in "$within" "$patience" "${every:-1}"; do
    [[ $number =~ ^[1-9][0-9]*$ ]] || misused "$number: must be a whole number of seconds"
  done
  for url in "$standby" "$primary" "${peers[@]}"; do
    ! names_several "$url" || misused "$(without_password "$url"): names several servers; name one"
  done
}
# Whether a URL or a line of keywords names several hosts; a comma in a password is none between them.
names_several() {
  local server
  if [[ $1 = *://* ]]; then
    server=${1#*://} server=${server%%[/?]*}
    [[ ${server##*@} != *,* ]] || return 0
  fi
  [[ $1 =~ (^|[?\&\ ])host(addr)?\ *=[^\&\ ]*, ]]
}
need() {
  local option
  for option in "$@"; do [ -n "${!option}" ] || misused "--$option is missing"; done
}
without_password() { sed -E "s#^([a-z]+://)[^/?]*@#\\1#; s#password *= *('[^']*'|[^ &]*)##" <<<"$1"; }
quoted() { printf "'%s'" "${1//\'/\'\'}"; }

# ask SECONDS URL STATEMENT…: the rows, with | between fields. Errors go to where the caller leads them.
ask() {
  local seconds=$1 url=$2 statements=()
  shift 2
  for statement in "$@"; do statements+=(--command "$statement"); done
  PGCONNECT_TIMEOUT=5 PGAPPNAME=failover PGOPTIONS='-c statement_timeout=0' timeout --kill-after=2 "$seconds" \
    psql --no-psqlrc --no-password --quiet --tuples-only --no-align --set ON_ERROR_STOP=1 --dbname "$url" "${statements[@]}"
}
# Whether something may answer there: also a server that starts, stops, or knows no such account, or could not be asked.
lives() {
  timeout 10 pg_isready --quiet --timeout=5 --dbname "$1" >/dev/null 2>&1
  [ $? -ne 2 ]
}
# comes_true SECONDS COMMAND…
comes_true() {
  local end=$((SECONDS + $1))
  shift
  until "$@"; do
    [ "$SECONDS" -lt "$end" ] || return 1
    sleep 0.2
  done
}

# What a server says of itself. The position that a standby has for certain is the later of two: after a restart the received
# one begins anew.
standing="select pg_is_in_recovery(), (select system_identifier from pg_control_system()), case when pg_is_in_recovery()
    then greatest(pg_last_wal_receive_lsn(), pg_last_wal_replay_lsn()) - '0/0' else pg_current_wal_flush_lsn() - '0/0' end,
  coalesce(pg_last_wal_replay_lsn() - '0/0', 0),
  coalesce(extract(epoch from clock_timestamp() - pg_last_xact_replay_timestamp())::bigint, -1),
  coalesce(substring(current_setting('primary_conninfo') from 'application_name[ ]*=[ ]*''*([^&'' ]+)'),
    nullif(current_setting('cluster_name'), ''), 'walreceiver')"

declare -A standby_is=() primary_is=()
# read_standing ARRAY URL: fails when the server cannot be asked; `error` then says why
read_standing() {
  # shellcheck disable=SC2034 # It is the caller's.
  local -n into=$1
  local line
  line=$(ask 20 "$2" "$standing" 2>&1) || { error=${line//$'\n'/ } && return 1; }
  IFS='|' read -r 'into[follows]' 'into[system]' 'into[position]' 'into[replayed]' 'into[age]' 'into[name]' <<<"$line"
}

look_at_standby() {
  local why
  read_standing standby_is "$standby" || refuse "the standby cannot be asked: $error"
  [ -n "$name" ] || name=${standby_is[name]}
  if [ "${standby_is[follows]}" = f ]; then
    why="$(without_password "$standby") is no standby: it takes writes."
    read_standing primary_is "$primary" || refuse "$why $(without_password "$primary") cannot be asked. Has this failover been done already?"
    [ "${primary_is[follows]}" = f ] || refuse "$why $(without_password "$primary") is its standby: are the two exchanged?"
    [ "${primary_is[system]}" = "${standby_is[system]}" ] || refuse "$why It has nothing to do with $(without_password "$primary")."
    refuse "$why So does $(without_password "$primary"). BOTH ARE PRIMARY: stop the one that applications should not use, at once, then give it to rejoin."
  fi
  say "standby $name: has received all up to byte ${standby_is[position]}, $((standby_is[position] - standby_is[replayed])) of them not replayed yet; its last commit is ${standby_is[age]} s old"
}

# Sets verdict (yes, no), reason, others (how many more standbys must be compared) and confirmed (the position that the
# primary knows the standby to have). hangs: nothing was acknowledged since the standby was seen last. Fails when the primary
# cannot be asked.
judge() {
  local line rows setting commit sync_state streams behind names count=1
  verdict=no others=0 confirmed=0 hangs=''
  line=$(ask 20 "$primary" "select current_setting('synchronous_standby_names'), case when exists (
      select from pg_db_role_setting cross join unnest(setconfig) as one where one ~ '^synchronous_commit=(off|local)\$')
      then 'off for a role or database' else current_setting('synchronous_commit') end,
    count(*), max(sync_state), max(state), coalesce(max(pg_current_wal_flush_lsn() - flush_lsn), 0), coalesce(max(flush_lsn - '0/0'), 0)
    from pg_stat_replication where application_name = $(quoted "$name")" 2>&1) || { error=${line//$'\n'/ } && return 1; }
  IFS='|' read -r setting commit rows sync_state streams behind confirmed <<<"$line"
  names=$setting
  if [[ ${setting,,} =~ ^((first|any)\ +)?0*([1-9][0-9]*)\ *\((.*)\)$ ]]; then
    count=${BASH_REMATCH[3]} names=${BASH_REMATCH[4]}
  fi
  if [[ $commit =~ ^(off|local) ]]; then
    reason="commits do not wait: synchronous_commit is $commit"
  elif [ "$rows" = 0 ]; then
    reason="no standby that calls itself $name is connected to the primary; synchronous_standby_names is '$setting'"
    [[ ! ${names,,} =~ ^\ *\"?"${name,,}"\"?\ *$ ]] || hangs=yes
  elif [ "$rows" != 1 ]; then
    reason="$rows standbys call themselves $name; give each another application_name in its primary_conninfo"
  elif [ "$streams" != streaming ]; then
    reason="$name does not stream yet ($streams), and is $behind bytes behind"
  elif [[ ! $sync_state =~ ^(sync|quorum)$ ]]; then
    reason="commits do not wait for $name ($sync_state), which is $behind bytes behind; synchronous_standby_names is '$setting'"
  elif [[ $names == *'*'* ]]; then
    reason="synchronous_standby_names is $setting: name the standbys, as nobody knows of how many this is one"
  else
    # Of k of n, whether ANY or FIRST, the furthest of n - k + 1 has all: when a first one is lost, the next takes its place.
    names=${names//[^,]/}
    others=$((${#names} + 1 > count ? ${#names} + 1 - count : 0))
    verdict=yes reason="each commit waits for $setting"
  fi
}

write_state() {
  [ -n "$state" ] || return 0
  if ! printf '%s|%s|%s|%s|%s|%s|%s\n' "$(date +%s)" "$1" "$name" "$verdict" "$others" "$confirmed" "$reason" >"$state.$$" ||
    ! mv "$state.$$" "$state"; then
    fail "the state cannot be written to $state"
  fi
}

look_at_primary() {
  read_standing primary_is "$primary" || return 1
  [ "${primary_is[system]}" = "${standby_is[system]}" ] || refuse "$(without_password "$primary") is another cluster than the standby: a wrong host?"
  [ "${primary_is[follows]}" = f ] || refuse "$(without_password "$primary") is a standby, too: --primary is a wrong host, or another server was promoted."
}

check_once() (
  look_at_standby
  if ! look_at_primary || ! judge; then refuse "the primary cannot be asked: $error"; fi
  [ -n "$hangs" ] || write_state "${standby_is[system]}"
  [ -z "$hangs" ] || refuse "every commit hangs: $reason. Bring the standby back, or let the primary go on with failover.sh alone"
  [ "$verdict" = yes ] || refuse "a failover now could lose acknowledged writes: $reason"
  [ "$others" = 0 ] || say "to be compared then, too: $others other standbys (--peer)"
  say "a failover now would lose nothing: $reason"
)

check() {
  local said last=''
  need standby primary
  if [ -z "$every" ]; then check_once; return; fi
  while :; do
    said=$(check_once 2>&1)
    said=${said##*$'\n'}
    said=${said#[0-9][0-9]:*  }
    [ "$said" = "$last" ] || say "$said"
    last=$said
    sleep "$every"
  done
}

# What is known of a primary that cannot be asked.
recall() {
  local at system of
  verdict=no others=0 confirmed=0
  [ -n "$state" ] || { reason='it cannot be asked whether it waited for the standby, and there is no --state of before' && return; }
  [ -r "$state" ] || { reason="it cannot be asked whether it waited for the standby, and there is no file $state" && return; }
  IFS='|' read -r at system of verdict others confirmed reason <"$state"
  local age=$(($(date +%s) - ${at:-0}))
  [ "$system $of" = "${standby_is[system]} $name" ] || { verdict=no reason="$state is of another standby" && return; }
  if [ "$age" -gt "$within" ]; then
    verdict=no reason="it was seen last $age s ago; if it went on alone since then, its writes are not here (--within says how old the state may be)"
  fi
  reason="$age s ago: $reason"
}

compare_with_peers() {
  local peer
  local -A peer_is=()
  for peer in "${peers[@]}"; do
    read_standing peer_is "$peer" || refuse "the standby $(without_password "$peer") cannot be asked: $error"
    [ "${peer_is[system]} ${peer_is[follows]}" = "${standby_is[system]} t" ] ||
      refuse "$(without_password "$peer") is no standby of this cluster"
    [ "${peer_is[position]}" -le "${standby_is[position]}" ] ||
      refuse "$(without_password "$peer") has $((peer_is[position] - standby_is[position])) bytes more than $name: promote that one"
  done
}

is_down() { ! lives "$primary"; }
has_confirmed() { read_standing standby_is "$standby" && [ "${standby_is[position]}" -ge "$confirmed" ]; }

promote() {
  local primary_lives='' names stopped='Nothing was changed.' began
  need standby primary
  [ -n "$fence$is_off" ] || misused '--fence is missing: without proof that the primary is down, both would take writes. --primary-is-off: you know it'
  [ -z "$fence" ] || [ -z "$is_off" ] || misused '--fence and --primary-is-off: one of them'
  look_at_standby
  if look_at_primary && judge; then
    primary_lives=yes
    say "primary $(without_password "$primary") answers"
    [ -z "$hangs" ] || recall
  else
    say "primary $(without_password "$primary") cannot be asked: $error"
    recall
  fi
  if [ "$verdict" = yes ] && [ "${#peers[@]}" -lt "$others" ]; then
    verdict=no reason="$reason; give $others other standbys with --peer, as one may have more than $name"
  fi
  if [ "$verdict" = yes ]; then
    say "$reason"
  elif [ -n "$accepts_loss" ]; then
    confirmed=0
    say "ACKNOWLEDGED WRITES MAY BE LOST: $reason. What is here is ${standby_is[age]} s old"
  else
    refuse "acknowledged writes could be lost: $reason. Nothing was changed. --accept-loss goes on all the same"
  fi
  [ -z "$is_off" ] || ! lives "$primary" || refuse '--primary-is-off: it answers. Stop it, or give --fence. Nothing was changed.'

  began=$EPOCHREALTIME
  if [ -n "$fence" ]; then
    say "fencing: $fence"
    timeout --kill-after=5 "$patience" sh -c "$fence" </dev/null ||
      refuse "the fence command failed (exit code $?), so the primary may still take writes. Nothing was promoted. Stop it by other means, then give --primary-is-off"
    comes_true "$patience" is_down ||
      refuse "$(without_password "$primary") still answers after the fence command: it stopped another server, or something started this one again. Nothing was promoted"
    stopped="The old primary is stopped: start it again to undo that, or repeat this command with --primary-is-off."
    say 'the primary is down'
  fi
  comes_true "$patience" has_confirmed ||
    refuse "the standby has less than it had confirmed to the primary ($((confirmed - standby_is[position])) bytes): it was put back since. $stopped"
  compare_with_peers

  # Else each commit would wait for a standby of its own. What is set is told by the reload at once.
  names=$(ask 20 "$standby" "select current_setting('synchronous_standby_names')" 2>&1) || refuse "$names. $stopped"
  if [ -n "$names" ]; then
    say "synchronous_standby_names was '$names', and is empty until a standby has joined"
    ask 20 "$standby" "alter system set synchronous_standby_names = ''" 'select pg_reload_conf()' >/dev/null || refuse "it could not be set. $stopped"
  fi
  say "promoting $name, which has $((standby_is[position] - standby_is[replayed])) bytes to replay"
  [ "$(ask "$((patience + 10))" "$standby" "select pg_promote(true, $patience)")" = t ] ||
    fail "the standby was told to become primary and has not within $patience s. Do not start the old one. Look at the log of the standby: it may still be replaying"
  comes_true "$patience" takes_writes "$standby" ||
    fail "the standby is primary and takes no writes: $error. Do not start the old one"
  say "$(without_password "$standby") takes writes, $(awk "BEGIN { printf \"%.1f\", ${EPOCHREALTIME/,/.} - ${began/,/.} }") s after the fence began"
  [ -z "$state" ] || rm -f "$state"
  cat <<END
Now:
1. /readyz of roomgate is 200 again within seconds, if both hosts are in DatabaseUrl. Otherwise set the new one, and restart.
   PgBouncer (PooledDatabaseUrl) does not find this server by itself: set its host, and RELOAD.
2. This server is alone: what it acknowledges is on its disk only. The old primary must not be started as it is.
3. Make the old primary the standby, at its machine and with the account of its data:
   failover.sh rejoin --data DIRECTORY --primary '$(without_password "$standby")' --name NAME
END
  [ "${#peers[@]}" = 0 ] || echo '4. The other standbys still wait for the old primary: rejoin them as well.'
  [ -n "$primary_lives" ] || echo 'The old primary was not stopped in order: only pg_rewind or a copy makes it a standby again, which rejoin does.'
}

takes_writes() {
  # A commit of its own, which waits as any other does.
  error=$(ask 15 "$1" "select pg_logical_emit_message(true, 'failover', 'takes writes')" 2>&1 >/dev/null)
}

streams() {
  [ -n "$(ask 20 "$primary" "select 1 from pg_stat_replication where application_name = $(quoted "$name") and state = 'streaming' $1" 2>/dev/null)" ]
}

# The server's own files: a copy or a rewind brings those of the primary, with its port and addresses.
own_files='postgresql.conf pg_hba.conf pg_ident.conf'

copy_all() {
  aside="$data.before-$(date -u +%Y%m%dT%H%M%S)"
  if ! mv "$data" "$aside" || ! mkdir -m 700 "$data"; then fail "$data cannot be put aside to $aside"; fi
  say "the old data are in $aside: remove them when all is well"
  if [ "$copy" = pg_basebackup ]; then
    "$bin/pg_basebackup" --pgdata="$data" --dbname="$stream" --wal-method=stream --checkpoint=fast --no-password
  else
    PGDATA=$data sh -c "$copy"
  fi || fail "the copy failed. Empty $data, put $aside back in its place, and try again"
}

rejoin() {
  local version aside kept file at major names
  need data primary name
  stream=${stream:-$primary}
  [[ $name =~ ^[A-Za-z0-9_-]+$ ]] || misused "--name $name: letters, digits, _ and -"
  [ "$(id -u)" != 0 ] || refuse 'as root: run it as the account of the data (sudo -u postgres)'
  version=$(cat "$data/PG_VERSION" 2>&1) || refuse "$data holds no data of PostgreSQL: $version"
  [ -n "$bin" ] || bin=$(dirname "$(command -v pg_ctl || echo "/usr/lib/postgresql/$version/bin/pg_ctl")")
  [ -x "$bin/pg_ctl" ] || refuse "there is no pg_ctl in $bin: give --bin"
  ! "$bin/pg_ctl" status --pgdata="$data" >/dev/null 2>&1 ||
    refuse "the server of $data runs. Is it still primary, both take writes: stop it first"
  read_standing primary_is "$primary" || refuse "the new primary cannot be asked: $error"
  [ "${primary_is[follows]}" = f ] || refuse "$(without_password "$primary") is a standby: --primary is the server that was promoted"
  major=$(ask 20 "$primary" "select current_setting('server_version_num')::int / 10000")
  [ "$major" = "$version" ] || refuse "$data is of PostgreSQL $version, and the primary is $major"
  ! streams '' || refuse "a standby that calls itself $name is connected to the primary already: another name?"
  [ -n "$copy" ] || [ -x "$bin/pg_rewind" ] || refuse "there is no pg_rewind in $bin: give --bin, or copy all with --copy"
  [ "$copy" != pg_basebackup ] || [ -x "$bin/pg_basebackup" ] || refuse "there is no pg_basebackup in $bin: give --bin"

  # pg_rewind tells the timelines apart by the last checkpoint.
  ask "$patience" "$primary" checkpoint || refuse 'the primary makes no checkpoint'
  kept=$(mktemp -d) || fail 'no temporary directory'
  for file in $own_files postgresql.auto.conf; do [ ! -f "$data/$file" ] || cp -p "$data/$file" "$kept/"; done
  say "making $data a standby of $(without_password "$primary")"
  if [ -n "$copy" ]; then
    copy_all
  else
    "$bin/pg_rewind" --target-pgdata="$data" --source-server="$primary" ${config:+--config-file="$config"} ||
      fail "pg_rewind failed; the configuration of before is in $kept. If it has begun to write, only rejoin --copy helps now"
  fi
  for file in $own_files postgresql.auto.conf; do [ ! -f "$kept/$file" ] || cp -p "$kept/$file" "$data/"; done
  rm -rf "$kept"
  at=$data/postgresql.auto.conf
  touch "$at"
  sed -i -E '/^(primary_conninfo|synchronous_standby_names|recovery_target[a-z_]*)[ =]/d' "$at"
  case $stream in
    *://*\?*) stream+="&application_name=$name" ;;
    *://*) stream+="?application_name=$name" ;;
    *) stream+=" application_name=$name" ;;
  esac
  printf 'primary_conninfo = %s\n' "$(quoted "$stream")" >>"$at"
  rm -f "$data/recovery.signal"
  touch "$data/standby.signal"
  say 'starting it'
  if [ -n "$start" ]; then
    timeout "$patience" sh -c "$start" </dev/null
  else
    "$bin/pg_ctl" start --silent --wait --timeout="$patience" --pgdata="$data" --log="$data/started-by-failover.log" \
      ${config:+--options="-c config_file=$config"} </dev/null
  fi || fail "it does not start: see its log. $data is ready to be a standby: start it by hand"
  comes_true "$patience" streams '' ||
    fail "it runs, and does not stream from $(without_password "$primary") within $patience s: see its log, and pg_hba.conf of the primary"
  say "$name follows"
  names=$(ask 20 "$primary" "select current_setting('synchronous_standby_names')")
  if [ -n "$synchronous" ] || [ -z "$names" ]; then
    names=${synchronous:-"ANY 1 ($name)"}
    ask 20 "$primary" "alter system set synchronous_standby_names = $(quoted "$names")" 'select pg_reload_conf()' >/dev/null ||
      fail "the primary's synchronous_standby_names could not be set"
  fi
  comes_true "$patience" streams "and sync_state in ('sync', 'quorum')" ||
    fail "$name follows, and commits do not wait for it: synchronous_standby_names is '$names'"
  say "commits wait for $names: the pair is whole again. Let failover.sh check tell that from now on"
}

alone() {
  local names
  need primary
  # Else promote would believe the note of before, and lose what the primary acknowledges from now on.
  [ -n "$state$standby_is_off" ] ||
    misused '--state is missing: the note of check would still say that the standby may be promoted. Run this on its machine. --standby-is-off: you know that it is off'
  [ -n "$standby_is_off" ] || [ -f "$state" ] ||
    refuse "there is no file $state here, so the note of check is elsewhere, and still says that the standby may be promoted. Run this where check runs, or stop the standby and give --standby-is-off. Nothing was changed"
  read_standing primary_is "$primary" || refuse "the primary cannot be asked: $error"
  [ "${primary_is[follows]}" = f ] || refuse "$(without_password "$primary") is a standby"
  names=$(ask 20 "$primary" "select current_setting('synchronous_standby_names')")
  verdict=no others=0 confirmed=0 reason='the primary was told to go on alone'
  [ -n "$name" ] || [ ! -r "$state" ] || IFS='|' read -r _ _ name _ <"$state"
  # First the note that the standby must not be promoted.
  write_state "${primary_is[system]}"
  ask 20 "$primary" "alter system set synchronous_standby_names = ''" 'select pg_reload_conf()' >/dev/null || fail 'it could not be set'
  comes_true "$patience" takes_writes "$primary" || fail "it takes no writes: $error"
  say "commits wait for nobody any more; it was '$names'. The standby must not be promoted now"
  echo "When it is back: psql -c \"alter system set synchronous_standby_names = '${names//\'/\'\'}'\" -c 'select pg_reload_conf()'; then failover.sh check"
}

[ $# -gt 0 ] || { usage >&2 && exit 2; }
command=$1
case $command in
  --help | -h | help) usage && exit 0 ;;
  check | promote | rejoin | alone) shift ;;
  *) misused "$command: there are check, promote, rejoin and alone" ;;
esac
read_options "$@"
for program in psql pg_isready; do command -v $program >/dev/null || refuse "$program is not installed"; done
"$command"
