#!/bin/sh
# ziatest: the command line that it builds, prints and executes. The launcher is a fake that records
# its arguments.
. "$(dirname "$0")/lib.sh"

bin=$tmp/bin
mkdir "$bin" "$tmp/here"
# shellcheck disable=SC2086 # options
cc $sanitize -o "$bin/ziatest" ziatest.c prepare/*.c || exit 1
cat >"$bin/fake" <<'END'
#!/bin/sh
# Prints its arguments, each in [], as one line, and appends that line to $RECORD.
line=
for arg; do line="$line[$arg]"; done
printf '%s\n' "$line" >>"${RECORD:-/dev/null}"
printf '%s\n' "$line"
END
printf '#!/bin/sh\n' >"$bin/probe"
chmod +x "$bin"/*
cp "$bin/fake" "$bin/mpirun"
cp "$bin/probe" "$tmp/here/ziaprobe"
PATH=$bin:$PATH
cd "$tmp/here" || exit 1
stamped='\[[0-9]{10}\]\[[0-9]{1,6}\]'

# starts NAME PATTERN ARGUMENT...: passes if ziatest, given ARGUMENTs, starts a launcher with the
# words PATTERN, each in []
starts() {
	title=$1 words=$2
	shift 2
	run ziatest "$@"
	like "$title" "$out" "$words"
}
probe="\[./ziaprobe\]$stamped"

starts 'the default launcher' "\[-npernode\]\[4\]$probe\[4\]" 4
like 'the command line on stderr, and nothing else' "$err" \
	"mpirun -npernode 4 ./ziaprobe $stamp 4"
starts "N after the launcher's last option" \
	"\[--ntasks\]\[1024\]\[--ntasks-per-node\]\[4\]$probe\[4\]" \
	4 'fake --ntasks 1024 --ntasks-per-node '
like 'one space is added after the launcher' "$err" \
	"fake --ntasks 1024 --ntasks-per-node  4 ./ziaprobe $stamp 4"
starts 'every {} is replaced, and N is not added' \
	"\[--map-by\]\[ppr:12:node\]\[-x\]\[12\]$probe\[12\]" 012 'fake --map-by ppr:{}:node -x {}'
for option in '-t 30' --timeout=0030; do
	# shellcheck disable=SC2086 # one word or two
	starts "$option and -vv" "\[4\]$probe\[4\]\[--timeout\]\[30\](\[--verbose\]){2}" \
		$option -vv 4 fake
done
for option in '-w 0.75' --where=0.75; do
	# shellcheck disable=SC2086 # one word or two
	starts "$option and -t" "\[4\]$probe\[4\]\[--where\]\[0.75\]\[--timeout\]\[9\]" \
		$option -t 9 4 fake
done
starts 'files and -v are passed on unchanged' "\[4\]$probe\[4\]\[--ranks\]\[a b.csv\]\
\[--csv\]\[it's\]\[--csv\]\[\\\$HOME\]\[--verbose\]" \
	--ranks 'a b.csv' -v --csv "it's" --csv '$HOME' 4 fake
is 'the printed line quotes them for a shell' "$(sh -c "$err")" "$out"

# A library for LD_PRELOAD. With it, the realtime clock reads 7 42, a search after the stamp aborts
# ziatest, and an exec of /bin/sh ends with status 99, or fails with the errno in NO_SHELL. If HIDE
# is set, no file can be opened. MAXERROR is the maximum error of the clock in us; if it is empty,
# adjtimex fails.
cat >"$tmp/libc.c" <<'END'
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/timex.h>
#include <time.h>
#include <unistd.h>
static int stamped;
int clock_gettime(clockid_t id, struct timespec *t)
{
	stamped = id == CLOCK_REALTIME;
	t->tv_sec = stamped ? 7 : 0;
	t->tv_nsec = 42999;
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
	if (stamped)
		abort();
	return execvpe(file, argv, environ);
}
int execl(const char *path, const char *name, ...)
{
	if (!getenv("NO_SHELL"))
		_exit(99);
	errno = atoi(getenv("NO_SHELL"));
	return -1;
}
FILE *fopen(const char *path, const char *mode)
{
	return getenv("HIDE") ? NULL : fdopen(open(path, O_RDONLY), mode);
}
int adjtimex(struct timex *clock)
{
	const char *maxerror = getenv("MAXERROR");

	clock->maxerror = maxerror ? atol(maxerror) : 500;
	return maxerror && !*maxerror ? -1 : TIME_ERROR;
}
END
cc -shared -fPIC -o "$tmp/libc.so" "$tmp/libc.c" || exit 1
preload=LD_PRELOAD=$tmp/libc.so
run env "$preload" ziatest 1 'fake'
is 'SEC and USEC are read from the realtime clock, and plain integers' "$err" \
	'fake 1 ./ziaprobe 7 42 1'

# Plain words or the shell: ziatest must do what /bin/sh does with the line that ziatest printed.
there=$tmp/there
mkdir "$there" "$there/dir" "$there/sub"
touch "$there/match1" "$there/match2" "$there/plain"
cp "$bin/probe" "$there/ziaprobe"
cp "$bin/fake" "$there/here"
cp "$bin/fake" "$there/sub"
sed 1d "$bin/fake" >"$there/bare"
{ echo '#!/no/such/interpreter'; cat "$there/bare"; } >"$there/lost"
chmod +x "$there/bare" "$there/lost"
# Directories in which fake is not executable, or is a directory itself
mkdir -p "$there/in-plain" "$there/in-dir/fake"
touch "$there/in-plain/fake"
RECORD=$tmp/record
export RECORD

# did COMMAND...: runs COMMAND in $there. Prints the arguments of each fake, sorted, then stdout,
# the status, the names of all files, and what redirections wrote. Leaves stderr in $tmp/err.
did() {
	: >"$RECORD"
	stdout=$(cd "$there" && "$@" 2>"$tmp/err" </dev/null)
	status=$?
	sort "$RECORD"
	printf '%s\n' "stdout: $stdout" "status: $status"
	ls "$there"
	cat "$there/out" "$there/4" 2>/dev/null
	rm -f "$there/out" "$there/4"
}

# same KIND LAUNCHER [ENV-ARGUMENT...]: passes if ziatest does what /bin/sh does with the printed
# line, which begins with LAUNCHER byte for byte. ziatest must do so without /bin/sh if KIND is
# plain, and by an exec of /bin/sh if KIND is shell.
same() {
	kind=$1 launcher=$2
	shift 2
	did env "$@" "$bin/ziatest" 4 "$launcher" >"$tmp/of_ziatest"
	line=$(head -n "$(printf '%s\n' "$launcher" | wc -l)" "$tmp/err")
	begin=$(printf '%s.' "$launcher" | sed 's/{}/4/g')
	begin=${begin%.}
	if [ "$begin" = "$launcher" ]; then
		begin="$begin 4"
	fi
	did env "$@" /bin/sh -c "$line" >"$tmp/of_shell"
	did env "$@" "$preload" "$bin/ziatest" 4 "$launcher" >"$tmp/of_preloaded"
	status=$(sed -n 's/^status: //p' "$tmp/of_ziatest")
	if [ "$kind" = shell ]; then
		status=99
	fi
	title=$(printf '%.75s' "$launcher" | LC_ALL=C tr -c '[:print:]' ' ' | sed 's/\\/&&/g')
	if ! ok "$kind: $title" agree; then
		diag "printed: $line"
		diag "$(tail -n +1 "$tmp/of_ziatest" "$tmp/of_shell" "$tmp/of_preloaded")"
	fi
}

agree() {
	matches "${line#"$begin ./ziaprobe "}" "^$stamp 4\$" &&
		cmp -s "$tmp/of_ziatest" "$tmp/of_shell" &&
		grep -qx "status: $status" "$tmp/of_preloaded"
}

while IFS= read -r row; do
	same "${row%%:*}" "${row#*:}"
done <<'END'
plain:  	fake  a	b 	--opt=c,d:e@f%g+h^i!j
plain:fake {} a{}b --{}={}
plain:./here a
plain:sub/fake a
plain:env FOO=bar fake a
plain:false
plain:fake then ! if done
shell:FOO=bar fake
shell:N={} fake -x file
shell:exec fake a
shell:no-such-program -n
shell:./plain
shell:./dir
shell:./bare a
shell:./lost a
shell:fake a;
shell:fake a && fake b
shell:false && fake
shell:fake <ziaprobe
shell:fake a >out
shell:fake (
shell:fake )
shell:fake $
shell:fake "$HOME" $UNSET "$UNSET" $(echo a  b) $((1 + 2)) $(
shell:fake `echo a b`
shell:fake "
shell:fake '
shell:fake 'a  b' 'c"d' '' 'a;b&c$d'
shell:fake match* no-match*
shell:fake match?
shell:fake [
shell:fake ]
shell:fake {
shell:fake }
shell:fake a#b
shell:fake ~ ~/x x~ --dir=~
END
same plain 'fake a	'
same plain "$(printf 'fake a\rb \013c\014 \201\210\240\377')"
same plain "fake$(seq -s ' ' 1000 | tr -d '[:digit:]' | sed 's/ / a/g')"
same shell "$(printf '%5000s' '' | tr ' ' a)"
same shell 'fake a
fake b'
# The environment begins behind the last argument, so it is what a scan beyond the launcher reads.
same shell "fake a\\" -i 'A=}' "PATH=$PATH" "RECORD=$RECORD" "ASAN_OPTIONS=$ASAN_OPTIONS"
same plain 'here a' PATH=
same plain 'here a' "PATH=:$PATH"
same plain 'here a' "PATH=$PATH:"
same shell 'here a' -u PATH
same shell 'here a'
same plain 'fake a' "PATH=$(printf '%5000s' '' | tr ' ' a):$PATH"
same plain 'fake a' "PATH=in-plain:in-dir:$PATH"

for case in 2:127 13:126; do	# ENOENT, EACCES
	run env "$preload" "NO_SHELL=${case%:*}" ziatest 4 'fake;'
	like "without /bin/sh, errno ${case%:*}: status ${case#*:}" "$out/$err/$status" \
		"/fake; [^|]*\|ziatest: error: cannot run /bin/sh: [^|]+/${case#*:}"
done

# The environment describes the launch node.
cat >"$bin/describe" <<'END'
#!/bin/sh
if [ "$$" = "$OMPI_ZIATEST_PID" ]; then
	pid=own
fi
echo "$OMPI_ZIATEST_NODE ${pid-$OMPI_ZIATEST_PID} ${OMPI_ZIATEST_SYNC-unset}"
END
chmod +x "$bin/describe"
# described NAME EXPECTED ENV-ARGUMENT...: checks the node, the process id and the maximum error
described() {
	title=$1 expected=$2
	shift 2
	run env -u ZIATEST_SYNC OMPI_ZIATEST_NODE=old OMPI_ZIATEST_PID=old OMPI_ZIATEST_SYNC=old \
		"$@" ziatest 1 describe
	like "$title" "$out" "$expected"
}
id=$(cat /proc/sys/kernel/random/boot_id)
described 'the boot id; the process id of ziatest, which becomes the launcher' \
	"$id own ([0-9]+|unset)"
described 'without a boot id, the nodename' "$(uname -n) own 500" "$preload" HIDE=1
described 'a maximum error below 16 s' "$id own 15999999" "$preload" MAXERROR=15999999
described 'a maximum error of 16 s or more is not set' "$id own unset" "$preload" MAXERROR=16000000
described 'without adjtimex, the maximum error is not set' "$id own unset" "$preload" MAXERROR=
described 'ZIATEST_SYNC is passed on as it is' "$id own  7 us" "$preload" 'ZIATEST_SYNC= 7 us'
described 'ZIATEST_SYNC may be empty' "$id own " "$preload" ZIATEST_SYNC=

# If a rank crashes, srun ends the others, unless the user decides otherwise, or a program is given.
unset SLURM_KILL_BAD_EXIT
starts 'SLURM_KILL_BAD_EXIT is 1' '\[1\]\[4\].*' 4 'fake $SLURM_KILL_BAD_EXIT'
export SLURM_KILL_BAD_EXIT=0
starts 'SLURM_KILL_BAD_EXIT=0 stays' '\[0\]\[4\].*' 4 'fake $SLURM_KILL_BAD_EXIT'
unset SLURM_KILL_BAD_EXIT
cp "$bin/probe" "$bin/ziastart"
touch "$bin/libziaprobe.so"
starts 'a program: SLURM_KILL_BAD_EXIT is not set' '\[unset\]\[4\].*' \
	4 'fake ${SLURM_KILL_BAD_EXIT-unset}' ./solver

ziatest 1 'touch launched; fake' >/dev/full 2>&1
is 'the command line cannot be printed: status 1' $? 1
ok 'the command line cannot be printed: nothing is launched' test ! -e launched

# A program: ziastart gets the same arguments as ziaprobe, and then -- and the program.
starter=$bin/ziastart ziatest=$bin/ziatest

# started TITLE LAUNCHER BEFORE: passes if a program that is given with LAUNCHER is started with the
# arguments BEFORE, each in [], if the names of files are absolute, and if that is what the printed
# line does, too
started() {
	run "$ziatest" -v --csv "it's\$x" -t 5 --ranks /ranks 4 "$2" ./solver -h '' "it's" '{}  |'
	like "a program, $1" "$out" "$3\[$starter\]$stamped\[4\]\
\[--csv\]\[$(pwd -P)/it's\\\$x\]\[--timeout\]\[5\]\[--ranks\]\[/ranks\]\[--verbose\]\
\[--\]\[./solver\]\[-h\]\[\]\[it's\]\[\{\}  \|\]"
	is "a program, $1: the printed line does the same" "$(sh -c "$err")" "$out"
}
started 'a plain launcher' 'fake -x -n ' '\[-x\]\[-n\]\[4\]'
started '{}' 'fake {} a' '\[4\]\[a\]'
started 'N={}' 'N={} fake -x file' '\[-x\]\[file\]'
started 'a shell launcher' 'fake $((1 + 1))' '\[2\]\[4\]'

mkdir "$tmp/links" "$tmp/lib" "$tmp/a b" "$tmp/a:b"
ln -s "$bin/ziatest" "$tmp/links"
cd "$tmp/links" || exit 1
ziatest=$tmp/links/ziatest
started 'ziatest is a symbolic link, no ziaprobe' 'fake -n' '\[-n\]\[4\]'
mv "$starter" "$bin/libziaprobe.so" "$tmp/lib"
starter=$tmp/lib/ziastart
started 'ziastart is in ../lib' 'fake -n' '\[-n\]\[4\]'
printf '#!/bin/sh\necho "$OMPI_ZIATEST_LIBRARY ${ZIAPROBE-unset}"\n' >"$bin/library"
chmod +x "$bin/library"
export ZIAPROBE=1,2,0	# as in a task of another launch
run "$ziatest" library -- ./solver
is 'the library is next to ziastart; this launch is not a part of another one' "$out" \
	"$tmp/lib/libziaprobe.so unset"
unset ZIAPROBE
rm "$starter"
# not_started NAME ERROR: passes if $ziatest fails with ERROR, and starts nothing
not_started() {
	run "$ziatest" 4 'fake -n' ./solver
	like "a program, $1" "$out/$err/$status" "/ziatest: error: $2/1"
}
cd "$tmp/here" || exit 1
not_started 'no ziastart' "cannot find ziastart, which starts your program, next to ziatest or in \
../lib; build it with 'make'"
for path in "$tmp/a b" "$tmp/a:b"; do
	cp "$bin/ziatest" "$path"
	cp "$bin/probe" "$path/ziastart"
	ziatest=$path/ziatest
	not_started "ziastart is in ${path##*/}" "cannot preload libziaprobe.so, which is next to \
'$path/ziastart': the path contains a blank or a colon; move Ziatest to another directory"
done
cp "$bin/probe" "$bin/ziastart"
ziatest=$bin/ziatest
not_started 'no library' "cannot read '$bin/libziaprobe.so': No such file or directory; build it \
with 'make'"
touch "$bin/libziaprobe.so"
starter=$bin/ziastart

# The probe is ./ziaprobe or the one next to ziatest.
mv ziaprobe "$bin/ziaprobe"
mkdir ziaprobe
ln -s "$bin/ziatest" "$tmp/link"
for ziatest in ziatest "$tmp/link"; do
	run "$ziatest" 3 fake
	like "the probe next to $ziatest; a directory is none" "$err" \
		"fake 3 $bin/ziaprobe $stamp 3"
done
odd="$tmp/it's a \$HOME"
mkdir "$odd"
cp "$bin/ziatest" "$bin/ziaprobe" "$odd"
run "$odd/ziatest" 3 fake
like 'the path of the probe is one word' "$out" \
	"\[3\]\[$tmp/it's a \\\$HOME/ziaprobe\]$stamped\[3\]"
is 'it is also one word to a shell that reads the printed line' "$(sh -c "$err")" "$out"
rm "$bin/ziaprobe"
run ziatest 3 fake
like 'no probe: one error, nothing launched' "$out/$err/$status" \
	"/ziatest: error: cannot find an executable ziaprobe .*'make'/1"
rmdir ziaprobe

# Usage errors.
usage='usage: ziatest .*'
cp "$bin/probe" ziaprobe
# wrong TITLE MESSAGE ARGUMENT...: passes if ARGUMENTs cause the usage error MESSAGE, and no more
wrong() {
	title=$1 message=$2
	shift 2
	run ziatest "$@"
	like "a usage error: $title" "$out/$err/$status" "/ziatest: error: $message\|$usage/2"
}
needed='must be a whole number from 1 to 2147483647, not'
for n in 0 '' 4x ' 4' +4 2147483648 99999999999999999999; do
	wrong "N '$n'" "N $needed '$(echo "$n" | sed 's/[.+]/\\&/')'" "$n" fake
done
wrong "N '4x' after --" "N $needed '4x'" -- 4x fake
wrong '--timeout -1' "--timeout $needed '-1'" --timeout -1 4 fake
for seconds in 0.000 -1 1. .5 1.2345 1e3 9999999999; do
	wrong "--where '$seconds'" "--where must be a number of seconds above 0, such as 0.7, not \
'$(echo "$seconds" | sed 's/[.]/\\&/')'" --where "$seconds" 4 fake
done
wrong '-n4' "unknown option or missing value: '-n4'" -v -n4 fake
wrong 'no file name' 'empty file name for --csv or --ranks; name a file' --csv '' 4 fake
wrong 'no arguments' "the launcher is missing, as in 'ziatest srun .* -- ziaprobe'"
wrong 'N as a file' "'mpirun -n' is not a launcher; leave out the quotes, as in 'ziatest mpirun -n \
N -- ziaprobe', or write N, the number of processes per node, before it" --csv 4 'mpirun -n'
wrong '--ppn and N' '--ppn 2 and N = 4 are both given; leave out --ppn' --ppn 2 4 fake
wrong '--ppn 0' "--ppn $needed '0'" --ppn 0 fake -- ziaprobe
quote="quote the launcher with its options: 'fake \.\.\.', or leave out N"
for program in --ntasks ''; do
	wrong "the program '$program'" "'$program' is not a program; $quote" 4 fake "$program" 4
done
# Assignments in the place of the program
while read -r program next; do
	# shellcheck disable=SC2086 # one word or none
	wrong "the program $program" "'$program' is not a program; to set a variable, write \
'env $program ${next:-\.\.\.}'" \
		4 'fake -n' "$program" $next
done <<'END'
OMP_NUM_THREADS=2 ./solver
n=4/solver
END

# replaces WORD...: passes if LD_PRELOAD in the last WORD, of a program, is refused
replaces() {
	for word; do :; done
	wrong "LD_PRELOAD in $word" "LD_PRELOAD in '$word' would replace libziaprobe.so; set it in \
the options of the launcher, or before ziatest" fake -- "$@"
}
# accepted LAUNCHER PROGRAM [WORD...]: passes if this is launched
accepted() {
	run ziatest 4 "$@"
	is "no wrong alarm: $*" "$status" 0
}
replaces env LD_PRELOAD=/x.so
replaces env A=1 --unset LD_PRELOAD
replaces apptainer --env A=1,LD_PRELOAD=/x.so
replaces sh -c 'LD_PRELOAD=/x.so ./solver'
replaces ./a : -n 2 -- env LD_PRELOAD=/x.so
while IFS= read -r launcher; do
	accepted "$launcher" ./solver
done <<'LAUNCHERS'
fake --export=ALL,LD_PRELOAD=/x.so -n
fake	-genv LD_PRELOAD /x.so -n
fake --bcast=/tmp/copy -n
LAUNCHERS
accepted fake ./LD_PRELOAD/solver LD_PRELOAD.log --LD_PRELOAD --multi-prog
accepted fake sh -c 'LD_PRELOAD=/x.so:$LD_PRELOAD ./solver'
cp "$bin/probe" a=b
accepted fake ./a=b
accepted fake /only/on/the=nodes/solver --note 'do not set LD_PRELOAD here'
accepted fake ./a : -x LD_PRELOAD=/x.so -n 2 -- ./b
for launcher in 'fake --multi-prog' 'fake --multi' 'fake -n {} --multi-prog='; do
	wrong "$launcher, with a program" '--multi-prog would read ziastart as its list .*' \
		4 "$launcher" ./solver
	accepted "$launcher"
done
no_blanks='with a program, file names must not contain blanks or commas:'
for option in --csv --ranks; do
	for name in 'a b' a,b; do
		wrong "$option '$name', with a program" \
			"$no_blanks '$(pwd -P)/$name'" $option "$name" 4 'fake -n' ./solver
	done
done
cd "$tmp/a b" || exit 1
wrong 'a blank in the current directory, with a program' \
	"$no_blanks '$(pwd -P)/runs.csv'" --csv runs.csv 4 'fake -n' ./solver
mkdir "$tmp/gone"
cd "$tmp/gone" || exit 1
rmdir "$tmp/gone"
run ziatest --csv runs.csv 4 'fake -n' ./solver
like 'a program, no current directory' "$out/$err/$status" \
	"/ziatest: error: the current directory is unknown; give 'runs.csv' as an absolute path/1"
cd "$tmp/here" || exit 1
for launcher in '' ' ' '# srun -n 4' '	 #x' --csv ' -v'; do
	wrong "launcher '$launcher'" "'$launcher', the argument after N, is not a launcher; put \
options before N" 4 "$launcher"
done

# A pipe would take N and the probe, and tee would overwrite the probe.
: >"$RECORD"
files=$(ls)
while IFS= read -r launcher; do
	run ziatest 4 "$launcher"
	is "a pipe is refused: $(printf '%s' "$launcher" | sed 's/\\/&&/g')" \
		"$out/$err/$status" "/ziatest: error: the launch line ends with a pipe, whose last \
command would get N and ziaprobe as arguments; put the pipe after ziatest, as in './ziatest N \
\"...\" 2>&1 | tee log', or into a script/2"
done <<'END'
fake|tee log
fake 2>&1 | tee log
fake |& tee log
fake || fake | tee log
fake >| log | cat
fake \\| tee log
fake \" | tee log
fake 'a \' | tee log
fake "a \" |" | tee log
fake '"' | tee log '"'
fake "'" | tee log "'"
fake $(echo a) | cat
fake | tee "log (1)"
fake | tee "$(basename "$(pwd)").log"
fake | tee $(basename $(pwd)).log ${A:-${B}}
fake | tee it\'s.log
fake > 'x'| tee log
fake | tee $(echo log) ${NONE:-log}
fake | cat; fake | tee log
fake a{}|cat
fake "$(echo '"')" | tee log
fake "(" | tee log
fake `echo "a"` | tee log
fake "$(echo "$(echo "$(echo "$(echo "$(echo 4)")")")")" | tee log
END
is 'a pipe is refused: nothing is run, no file is new' "$(ls; cat "$RECORD")" "$files"
ok 'a pipe is refused: the probe is as it was' cmp "$bin/probe" ziaprobe

# Any other | is the shell's, or an argument.
while IFS= read -r launcher; do
	run ziatest 4 "$launcher"
	first=$(printf '%s\n' "$err" | head -n 1)
	sh -c "$first" >"$tmp/shell" 2>&1
	is "no pipe: $launcher" "$out/$status" "$(cat "$tmp/shell")/$?"
done <<'END'
fake 'a|b' "c|d"
fake $(echo $(echo 4 | cat) | cat)
fake "$(echo "4 | 8")"
fake "$(echo "a" | cat)" "|"
fake ${NONE:-a|b} "${NONE:-c|d}"
fake `echo "$(echo 4 | cat)" | cat`
fake a\|b
fake "a ' | b"
fake 'a " | b'
fake "a \" | b"
fake "a \\" 'b|c'
fake \'a\|b\'
sh -c 'fake a | cat' -
false||fake
false || false || fake
fake 2>| log
echo a | cat; fake
case a in a|b) fake ;; esac; fake
fake --comment="\"a|b\""
fake "a|b\"c" 'a\' 'b|c'
fake 'a|b' "it's"
fake "a$" "$(echo "$(echo 'a|b')")|" "(|"
END

# The words form: LAUNCHER [ARGUMENT...] -- PROGRAM [ARGUMENT...]

# same_words WORD...: passes if ziatest starts WORDs as they are, without a shell, and prints a line
# with which a shell does the same
same_words() {
	did env "$preload" "$bin/ziatest" --ppn 2 "$@" -- ziaprobe >"$tmp/of_ziatest"
	line=$(cat "$tmp/err")
	did "$@" ./ziaprobe 7 42 0 --ppn 2 --verbose >"$tmp/of_words"
	did /bin/sh -c "$line" >"$tmp/of_shell"
	title=$(printf '%.75s' "$*" | LC_ALL=C tr -c '[:print:]' ' ')
	if ! ok "words: $title" agree_words; then
		diag "printed: $line"
		diag "$(tail -n +1 "$tmp/of_ziatest" "$tmp/of_words" "$tmp/of_shell")"
	fi
}

agree_words() {
	cmp "$tmp/of_ziatest" "$tmp/of_words" && cmp "$tmp/of_ziatest" "$tmp/of_shell"
}

same_words fake
same_words fake -n 4 --opt=c,d:e@f%g+h^i!j
same_words fake 'a  b' "it's" '$HOME' '{}' '' '|' '>out' '*' '~' '#' 'a;b' '`id`' '"' 'x
y'
same_words ./here {}
same_words sub/fake 4
same_words false
same_words env FOO=bar fake 4 fake
same_words sh -c 'fake "$@" | cat' sh -n 4
# shellcheck disable=SC2046 # words
same_words fake $(seq 9000)
same_words fake "$(printf '%100000s' '' | tr ' ' a)"

while IFS='=' read -r options report; do
	# shellcheck disable=SC2086 # words
	starts "words: the report of '$options'" "$probe\[0\]$report" $options fake -- ziaprobe
done <<'END'
=\[--verbose\]
-v=\[--verbose\]
-vv=\[--verbose\]\[--verbose\]
-v -v -v=\[--verbose\]\[--verbose\]
-q=
-v --quiet=
-vvq=
-q -v=\[--verbose\]
-vv -qv=\[--verbose\]
-qvt9=\[--timeout\]\[9\]\[--verbose\]
END
for options in -q -vq; do
	starts "N and $options" "\[4\]$probe\[4\]" "$options" 4 fake
done
starts --start-only "\[4\]$probe\[4\]\[--start-only\]" --start-only 4 fake

# Where the launcher ends
start="$stamped\[0\]\[--verbose\]"
probed="$probe\[0\]\[--verbose\]"
# shellcheck disable=SC2034 # in the table
started="\[$starter\]$start\[--\]"
mkdir other
cp "$bin/probe" other/ziaprobe
while IFS='=' read -r arguments expected; do
	# shellcheck disable=SC2086 # words
	run ziatest $arguments
	like "words: $arguments" "$out" "$(eval "echo \"$expected\"")"
	is "words: $arguments: the printed line" "$(sh -c "$err")" "$out"
done <<'END'
fake -n 4 -- ./solver -x=\[-n\]\[4\]$started\[./solver\]\[-x\]
fake -- ./solver -- x=$started\[./solver\]\[--\]\[x\]
fake -- -- ./solver=\[--\]$started\[./solver\]
fake -- -- ziaprobe=\[--\]$probed
fake -- ./ziaprobe=$probed
fake -- ../here/ziaprobe=\[../here/ziaprobe\]$start
fake -- other/ziaprobe=\[other/ziaprobe\]$start
fake -- ../bin/fake ziaprobe=$started\[../bin/fake\]\[ziaprobe\]
fake -- ../bin/probe=$started\[../bin/probe\]
fake 1 -- ./a x : 2 -- ./b -- y=\[1\]$started\[./a\]\[x\]\[:\]\[2\]$started\[./b\]\[--\]\[y\]
-- 4 fake=\[4\]$probe\[4\]
4 fake ziaprobe=\[4\]$probe\[4\]
4 fake other/ziaprobe=\[4\]\[other/ziaprobe\]$stamped\[4\]
--ranks -- 4 fake=\[4\]$probe\[4\]\[--ranks\]\[--\]
--ranks -- fake -- ziaprobe=$probe\[0\]\[--ranks\]\[--\]\[--verbose\]
END
cp "$bin/probe" "$bin/ziaprobe"
starts "words: $bin/ziaprobe" "\[$bin/ziaprobe\]$start" fake -- "$bin/ziaprobe"
rm "$bin/ziaprobe"
starts 'words: the options with a program' "\[$starter\]$stamped\[0\]\[--ppn\]\[4\]\
\[--start-only\]\[--csv\]\[$(pwd -P)/x\]\[--verbose\]\[--\]\[./solver\]" \
	--ppn 04 --start-only --csv x fake -- ./solver

# ... and what is wrong with it
wrong 'no --' "-- is missing; to measure a program, write -- before it; to launch the benchmark \
itself, write:\|	ziatest -q srun 'a b' -n 4 -- ziaprobe" -q srun 'a b' -n 4
wrong 'no --, before ziaprobe' "-- is missing; .* write:\|	ziatest fake -n 4 -- ziaprobe" \
	fake -n 4 ziaprobe
wrong 'quotes and a program' "'fake -n' is not a launcher; leave out the quotes, as in 'ziatest \
fake -n 4 -- ./a', or write N, .*" 'fake -n' 4 -- ./a
wrong 'X=1' "'X=1' is not a launcher; to set a variable, write 'env X=1 fake'" X=1 fake -- ./a
wrong 'X=1 alone' "'X=1' is not a launcher; to set a variable, write 'env X=1 \.\.\.'" X=1 -- ./a
for program in -n --; do
	wrong "the program '$program', and no launcher" "'$program' is not a program; after --, \
name the program, and then its options" -- "$program" 4
done
wrong 'the program -n' "'-n' is not a program; after --, .*" fake -- -n 4
wrong 'the program X=1' "'X=1' is not a program; to set a variable, write 'env X=1 ./a'" \
	fake -- X=1 ./a
missing='the program is missing; write it after -- or, for the benchmark itself, ziaprobe'
wrong 'nothing after --' "$missing" fake ./solver --
wrong 'nothing after the second --' "$missing" fake -- --
wrong 'only --' "$missing" --
wrong ':, and no --' "-- is missing after ':'; write -- before each program, .*" \
	fake -n 1 -- ./a : -n 2 ./b
wrong ': with -- and no program' "$missing" fake -- ./a : -n 2 --
wrong ': and ziaprobe' 'ziaprobe cannot be one of several programs; launch it alone' \
	fake -- ./a : -- other/ziaprobe
wrong ': and --multi-prog' '--multi-prog would read .*' fake -- ./a : --multi-prog -- ./b
for form in 'fake --' '4 fake'; do
	# shellcheck disable=SC2086 # words
	wrong "ziaprobe and an argument: $form" "./ziaprobe takes no arguments here, such as \
'--csv'; write the options of ziatest before the launcher" $form ./ziaprobe --csv x
done
wrong '4x as the launcher' "N $needed '4x'" 4x -n 4 -- ./a
wrong '--multi-prog, with a program' '--multi-prog would read .*' fake --multi-prog -- ./a
run ziatest fake --multi-prog -- ziaprobe
is 'words: no wrong alarm: --multi-prog' "$status" 0
cp "$bin/fake" "$bin/4x"
starts 'words: a launcher whose name begins with a digit' '\[-n\]\[4\].*' 4x -n 4 -- ziaprobe
# failing LAUNCHER STATUS MESSAGE: passes if LAUNCHER causes this error
failing() {
	did "$bin/ziatest" "$1" -- ziaprobe >"$tmp/of_ziatest"
	like "words: the launcher $1" "$(tail -n 1 "$tmp/err")/$(sed -n 's/^status: //p' \
		"$tmp/of_ziatest")" "$3/$2"
}
failing no-such-program 127 "ziatest: error: cannot find the launcher 'no-such-program'; check .*"
failing ./no-such-program 127 "ziatest: error: cannot find the launcher './no-such-program'; .*"
failing ./plain 126 "ziatest: error: the launcher './plain' is not an executable file"
failing ./dir 126 "ziatest: error: the launcher './dir' is not an executable file"
failing ./lost '(2|126|127)' 'sh: .*'
run sh -c "cd '$there' && '$bin/ziatest' ./bare a -- ziaprobe"
like 'words: a launcher without #! runs as in a shell' "$out/$status" "\[a\]$probed/0"

run ziatest -h
like '-h: the usage and more on stdout' "$out" "$usage"
is '-h: nothing on stderr, status 0' "$err$status" 0
run ziatest --version
like '-V: the version' "$out" 'ziatest [0-9.]+'
finish
