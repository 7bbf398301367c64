#!/bin/sh
# ziatest: the command it builds, prints and becomes, against a launcher that
# records its arguments
. "$(dirname "$0")/lib.sh"

bin=$tmp/bin
mkdir "$bin" "$tmp/here"
# shellcheck disable=SC2086 # options
cc $sanitize -o "$bin/ziatest" ziatest.c || exit 1
cat >"$bin/fake" <<'END'
#!/bin/sh
# One line: the arguments, each in []
for arg; do printf '[%s]' "$arg"; done
echo
echo $$ >"${PIDFILE:-/dev/null}"
exit "${FAKE_STATUS:-0}"
END
printf '#!/bin/sh\n' >"$bin/probe"
chmod +x "$bin"/*
cp "$bin/fake" "$bin/mpirun"
cp "$bin/probe" "$tmp/here/ziaprobe"
PATH=$bin:$PATH
cd "$tmp/here" || exit 1
stamped='\[[0-9]{10}\]\[[0-9]{1,6}\]'

run ziatest 4
like 'the default launcher' "$out" "\[-npernode\]\[4\]\[./ziaprobe\]$stamped\[4\]"
like 'the command line on stderr, and nothing else' "$err" \
	"mpirun -npernode 4 ./ziaprobe $stamp 4"
is 'status 0' "$status" 0

run ziatest 4 'fake --ntasks 1024 --ntasks-per-node '
like "N after the launcher's last option" "$out" \
	"\[--ntasks\]\[1024\]\[--ntasks-per-node\]\[4\]\[./ziaprobe\]$stamped\[4\]"
like 'one space is added after the launcher' "$err" \
	"fake --ntasks 1024 --ntasks-per-node  4 ./ziaprobe $stamp 4"

run ziatest 12 'fake --map-by ppr:{}:node -x {}'
like '{} is replaced, every one, and N is not added' "$err" \
	"fake --map-by ppr:12:node -x 12 ./ziaprobe $stamp 12"

run ziatest 007 'fake -n'
like 'N is a decimal number' "$err" "fake -n 7 ./ziaprobe $stamp 7"

# The words of the launcher, each after the arguments that the shell or ziatest makes of it.
words="\[1\]\[./ziaprobe\]$stamped\[1\]"
spoken() {	# LAUNCHER PATTERN
	run ziatest 1 "$1"
	like "a shell's words: $1" "$out" "$2"
}
touch match1 match2
spoken 'fake "two words" $HOME' "\[two words\]\[$HOME\]$words"
spoken "fake 'it''s' a\\ b \"\$((1 + 2))\" match?" '\[its\]\[a b\]\[3\]\[match1\]\[match2\]'"$words"
spoken 'fake "a;b|c&d" n[1-4]' "\[a;b\|c&d\]\[n\[1-4\]\]$words"
spoken 'fake a; fake' "\[a\]\|$words"
spoken 'true && fake' "$words"
spoken 'FOO=bar fake' "$words"
spoken 'fake $(echo a b)' "\[a\]\[b\]$words"
spoken '! false | fake' "$words"
spoken '$UNSET fake' "$words"
# What wordexp would find otherwise.
spoken 'fake $((1 << 3)) $((16 % 5))' "\[8\]\[1\]$words"
spoken 'fake ${PATH:+"q r"} ${UNSET}x' "\[q r\]\[x\]$words"
spoken 'fake a # note' '\[a\]'
rm match1 match2

run ziatest -t 30 4 'fake $SLURM_KILL_BAD_EXIT'
like '-t is passed on, and has srun end the whole job' "$out" \
	"\[1\]\[4\]\[./ziaprobe\]$stamped\[4\]\[--timeout\]\[30\]"
SLURM_KILL_BAD_EXIT=0 run ziatest --timeout=007 4 'fake $SLURM_KILL_BAD_EXIT'
like 'unless the user has decided that' "$out" \
	"\[0\]\[4\]\[./ziaprobe\]$stamped\[4\]\[--timeout\]\[7\]"
run ziatest 4 'fake $SLURM_KILL_BAD_EXIT'
like 'without -t srun is left alone' "$out" "\[4\]\[./ziaprobe\]$stamped\[4\]"

run ziatest --ranks 'a b.csv' -v --csv "it's" 4 fake
like 'files and -v are passed on, quoted for the shell' "$out" \
	"\[4\]\[./ziaprobe\]$stamped\[4\]\[--ranks\]\[a b.csv\]\[--verbose\]\[--csv\]\[it's\]"

# The stamp is the realtime clock, between two readings of date, and not zero-padded.
before=$(date +%s%6N)
run ziatest 1 'fake'
after=$(date +%s%6N)
started=$(printf '%s\n' "$err" | awk '{ printf "%s%06d", $4, $5 }')
ok 'SEC USEC is the time of the start' [ "$before" -le "$started" ]
ok 'SEC USEC is not later than the end' [ "$started" -le "$after" ]
padded=0
for _ in 1 2 3; do	# in the first tenth of a second, where padding would show
	poll 5 sh -c 'case $(date +%N) in 0[0-5]*) exit 0 ;; *) exit 1 ;; esac'
	run ziatest 1 'fake'
	case $err in *' 0'[0-9]*) padded=1 ;; esac
done
is 'USEC is a plain integer' $padded 0

# The launcher is the process that ziatest was, and gets its signals.
PIDFILE=$tmp/pid ziatest 1 'fake "a b"' >"$tmp/out" 2>&1 &
pid=$!
wait $pid
is 'ziatest becomes the launcher' "$(cat "$tmp/pid")" "$pid"
printf '#!/bin/sh\nexec sleep 1000\n' >"$bin/sleeper"
printf '#!/bin/sh\necho "$ZIATEST_NODE"\n' >"$bin/named"
chmod +x "$bin"/*
run timeout --foreground 1 ziatest 1 sleeper
is 'a signal ends the launcher' "$status" 124
is 'the environment names the node' "$(ziatest 1 named 2>/dev/null)" \
	"$(cat /proc/sys/kernel/random/boot_id)"

for want in 0 1 7 42 255; do
	FAKE_STATUS=$want run ziatest 1 fake
	is "the launcher's status $want is ziatest's" "$status" "$want"
done
run ziatest 1 'no-such-launcher -n'
is 'a launcher that is not found: 127' "$status" 127
run ziatest 1 'kill -KILL $$; fake'
is 'a launcher killed by a signal: 128 + 9, as a shell gives it' "$status" 137
touch "$tmp/plain"
run ziatest 1 "$tmp/plain"
is 'a launcher that cannot be executed: 126' "$status" 126

# Where there is no PATH the shell decides; an empty entry of it is the current directory.
printf '#!/bin/sh\necho run\n' >here
chmod +x here
run env -u PATH "$bin/ziatest" 1 here
is 'without PATH the current directory is not searched' "$out/$status" /127
run env PATH=/no/such: "$bin/ziatest" 1 here
is 'an empty entry is the current directory' "$out/$status" run/0
rm here

# The search in PATH lies before the stamp: what searches after it fails here.
cat >"$tmp/search.c" <<'END'
#include <fcntl.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
static int stamped;
int clock_gettime(clockid_t id, struct timespec *t)
{
	stamped = id == CLOCK_REALTIME;
	t->tv_sec = t->tv_nsec = 0;
	return 0;
}
int access(const char *path, int mode)
{
	if (stamped)
		abort();
	return faccessat(AT_FDCWD, path, mode, 0);
}
int execvp(const char *file, char *const argv[])
{
	abort();
}
END
cc -shared -fPIC -o "$tmp/search.so" "$tmp/search.c" || exit 1
mkdir "$tmp/first" "$tmp/first/fake"
PATH=$tmp/no-such:$tmp/first:$PATH run env LD_PRELOAD="$tmp/search.so" ziatest 4 'fake a'
like 'the search in PATH is not on the clock' "$out" "\[a\]\[4\]\[./ziaprobe\]\[0\]\[0\]\[4\]"
is 'and finds a program, not a directory' "$status" 0

ziatest 1 'touch launched; fake' >/dev/full 2>&1
is 'nowhere to print to: status 1' $? 1
ok 'nowhere to print to: nothing is launched' test ! -e launched

# A substitution belongs to the launcher: it is on the clock.
run ziatest 1 'fake `date +%s%6N`'
echo "$out" | awk -F '[][]+' '{ exit !($2 >= $5 * 1000000 + $6) }'
is 'a substitution comes after the stamp' $? 0

# Which probe.
mv ziaprobe "$bin/ziaprobe"
run ziatest 3 fake
like 'without ./ziaprobe, the one beside ziatest' "$err" "fake 3 $bin/ziaprobe $stamp 3"
mkdir ziaprobe
run ziatest 3 fake
like 'a directory ./ziaprobe is not a probe' "$err" "fake 3 $bin/ziaprobe $stamp 3"
rmdir ziaprobe
odd="$tmp/it's a \$HOME"
mkdir "$odd"
cp "$bin/ziatest" "$bin/ziaprobe" "$odd"
run "$odd/ziatest" 3 fake
like 'its path is one word' "$out" "\[3\]\[$tmp/it's a \\\$HOME/ziaprobe\]$stamped\[3\]"
is 'and to a shell that reads the printed line' "$(sh -c "$err")" "$out"
ln -s "$bin/ziatest" "$tmp/link"
run "$tmp/link" 3 fake
like 'also when ziatest is a symbolic link' "$err" "fake 3 $bin/ziaprobe $stamp 3"
rm "$bin/ziaprobe"
run ziatest 3 fake
like 'no probe: said once, nothing launched' "$out/$err" \
	"/ziatest: error: no executable ziaprobe .*'make'"
is 'no probe: status 1' "$status" 1

# Usage errors.
usage='usage: ziatest .*'
cp "$bin/probe" ziaprobe
for n in abc 0 3.5 '' 99999999999 4x ' 4' +4 2147483648; do
	run ziatest "$n" fake
	like "N '$n': a usage error" "$out/$err" "/ziatest: error: N must be .*\|$usage"
	is "N '$n': status 2" "$status" 2
done
run ziatest -1 fake
like 'N -1: a usage error' "$out/$err" "/ziatest: error: unknown option[^|]*: '-1'\|$usage"
is 'N -1: status 2' "$status" 2
run ziatest
like 'no arguments: a usage error' "$out/$err" "/ziatest: error: N, .* is missing\|$usage"
is 'no arguments: status 2' "$status" 2
run ziatest 4 srun --ntasks 4
like 'an unquoted launcher: a usage error' "$out/$err" "/ziatest: error: too many .*\|$usage"
is 'an unquoted launcher: status 2' "$status" 2
run ziatest 4 ' '
like 'an empty launcher: a usage error' "$out/$err" \
	"/ziatest: error: the launcher is empty, [^|]*\|$usage"
for comment in '#' '# srun -n 4' '	 #x'; do
	run ziatest 4 "$comment"
	like "launcher '$comment': a usage error" "$out/$err/$status" \
		"/ziatest: error: the launcher is empty, or a comment: '[^|]*\|$usage/2"
done
run ziatest 4 ' --help'
is 'an option after N, with a blank before it: status 2' "$status" 2
run ziatest 4 --help
like 'an option after N: a usage error' "$out/$err" "/ziatest: error: options go before N.*\|$usage"
for seconds in 0 -1 1.5 x '' 99999999999; do
	run ziatest --timeout "$seconds" 4 fake
	like "--timeout '$seconds': a usage error" "$out/$err/$status" \
		"/ziatest: error: --timeout must be .*\|$usage/2"
done
run ziatest --csv '' 4 fake
like 'a file without a name: a usage error' "$out/$err/$status" \
	"/ziatest: error: a file's name is empty\|$usage/2"
run ziatest -n4 fake
like 'an unknown option is quoted' "$err" "ziatest: error: unknown option[^|]*: '-n4'\|$usage"
run ziatest -vvvvvvvvvvvvvvvvvvvv 4 fake
like '-v many times is -v' "$out" "\[4\]\[./ziaprobe\]$stamped\[4\]\[--verbose\]"
run ziatest --unknown 4
is 'an unknown option: status 2' "$status" 2

run ziatest -h
like '-h: the usage and more on stdout' "$out" "$usage"
is '-h: nothing on stderr, status 0' "$err$status" 0
run ziatest --version
like '-V: the version' "$out" 'ziatest [0-9.]+'
finish
