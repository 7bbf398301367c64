#!/bin/sh
# ziastart: how it finds and starts a program in a task, and its errors
. "$(dirname "$0")/lib.sh"

bin=$tmp/bin here=$tmp/here
mkdir "$bin" "$here" "$tmp/path" "$tmp/first" "$tmp/copied"
starter "$bin/ziastart" -static 2>/dev/null || starter "$bin/ziastart" || exit 1
cc -shared -o "$bin/libziaprobe.so" -x c /dev/null || exit 1
cp "$bin/libziaprobe.so" "$tmp/one.so"
cp "$bin/libziaprobe.so" "$tmp/two.so"
cp "$bin/ziastart" "$tmp/copied"
# Prints its directory, its arguments, each in [], LD_PRELOAD and ZIAPROBE
cat >"$here/show" <<'END'
#!/bin/sh
printf '%s:' "${0%/*}"
printf '[%s]' "$@"
echo " $LD_PRELOAD $ZIAPROBE"
END
chmod +x "$here/show"
cp "$here/show" "$here/a b"
cp "$here/show" "$tmp/path"
ln -s ../bin/ziastart "$tmp/first/link"
touch "$tmp/first/show"
mkdir "$here/directory" "$tmp/first/a b"
printf '#!/no/such/shell -x\n' >"$here/lost"
sed 1d "$here/show" >"$here/bare"
printf '\177ELF\1\1\1\0%060d' 0 >"$here/foreign"
chmod +x "$here/lost" "$here/bare" "$here/foreign"
cd "$here" || exit 1
unset LD_PRELOAD ZIAPROBE OMPI_COMM_WORLD_RANK PMI_RANK PMIX_RANK FLUX_TASK_RANK SLURM_PROCID
library=$bin/libziaprobe.so
ziastart=$bin/ziastart
# USEC is the process id, so that each run of this test is a launch of its own: ziastart prints an
# error only once per launch and node, and another run may be in progress here.
all="[] $library 1,$$,0"

# started NAME EXPECTED ENV-ARGUMENT...: passes if env, given ENV-ARGUMENTs, prints EXPECTED
started() {
	title=$1 expected=$2
	shift 2
	run env "$@"
	is "$title" "$err$out/$status" "$expected/0"
}
started 'the arguments, and both variables' ".:[a b][][it's][--][x] $library 7,42,0,-v,--csv,/x" \
	"$ziastart" 7 42 0 -v --csv /x -- ./show 'a b' '' "it's" -- x
started 'by a link, and an empty LD_PRELOAD' ".:$all" \
	LD_PRELOAD= "$tmp/first/link" 1 $$ 0 -- ./show
started 'LD_PRELOAD is extended, in its order' ".:[] $tmp/two.so:$tmp/one.so:$library 1,$$,0" \
	"LD_PRELOAD=$tmp/two.so:$tmp/one.so" "$ziastart" 1 $$ 0 -- ./show
# PATH first, then the working directory, as with srun and Open MPI
started 'a name with a blank, and of a directory in PATH' ".:$all" "PATH=$tmp/first:$PATH" \
	"$ziastart" 1 $$ 0 -- 'a b'
started 'in PATH, before the working directory' "$tmp/path:$all" \
	"PATH=$tmp/first:$tmp/path:$PATH" "$ziastart" 1 $$ 0 -- show
started 'in the working directory, without PATH' ".:$all" -u PATH "$ziastart" 1 $$ 0 -- show
started 'a script without #!' ".:[-c] $library 1,$$,0" "$ziastart" 1 $$ 0 -- bare -c
started 'argv[0] is the name as it was given; PATH has an empty entry' cat/proc/self/cmdline \
	"PATH=:$PATH" "$ziastart" 1 $$ 0 -- cat /proc/self/cmdline

# not_started NAME STATUS MESSAGE PROGRAM: passes if PROGRAM causes this error
on="\\(on $(uname -n)\\)"
not_started() {
	run "$ziastart" 1 $$ 0 -- "$4"
	like "$1" "$out/$err/$status" "/ziaprobe: error: $3 $on/$2"
}
not_started 'no such program' 127 \
	'cannot find the program none: it is neither in PATH nor in the working directory' none
not_started 'no such file' 127 'cannot find the program ./none: No such file or directory' \
	./none
not_started 'a directory' 126 'cannot start ./directory: Permission denied' directory
not_started 'no interpreter' 126 \
	'cannot start ./lost: the interpreter in its first line, or its loader, .*' ./lost
not_started 'another kind of machine' 126 'cannot start ./foreign: Exec format error' ./foreign
for arguments in '1 1 0 -v' '1 1 0 --' '1 1 -- ./show x'; do
	# shellcheck disable=SC2086 # words
	run "$ziastart" $arguments
	like "no program, or no N: $arguments" "$out/$err/$status" '/usage: ziastart .*/2'
done

# Once per launch and node: the first task to fail holds the name of the launch. It is stopped
# meanwhile.
"$ziastart" 5 $$ 0 -- ./none 2>"$tmp/first.err" &
first=$!
ok 'the first task prints an error' poll 60 test -s "$tmp/first.err"
kill -STOP $first
for launch in 5 6 5; do
	"$ziastart" $launch $$ 0 -- ./none
	echo $?
done >"$tmp/statuses" 2>"$tmp/err"
kill -CONT $first
wait $first
is 'the other tasks of its launch print none' \
	"$? $(paste -s -d ' ' "$tmp/statuses") $(wc -l <"$tmp/err")" '127 127 127 127 1'

# A copy without the library, such as that of srun --bcast
ziastart=$tmp/copied/ziastart
visible='No such file or directory; make its directory visible on all nodes, and inside containers'
not_started 'a copy, and no library' 127 "cannot read $tmp/copied/libziaprobe.so: $visible" ./show
export OMPI_ZIATEST_LIBRARY=/lost.so
not_started 'a copy, and the library is not visible' 127 "cannot read /lost.so: $visible" ./show
# The launch is ended, but not the step in which ziatest itself runs.
printf '#!/bin/sh\necho "scancel $*"\n' >"$tmp/path/scancel"
chmod +x "$tmp/path/scancel"
for step in '6:scancel 1\.7' '7:cmd=abort exitcode=127'; do
	run env "PATH=$tmp/path:$PATH" SLURM_JOB_ID=1 SLURM_STEP_ID=7 PMI_FD=1 \
		OMPI_ZIATEST_STEP="${step%%:*}" "$ziastart" 1 $$ 0 -- ./show
	like "no library in step 7, ziatest in step ${step%%:*}" "$err/$out/$status" \
		".* cannot read /lost.so: .*/${step#*:}/127"
done
export OMPI_ZIATEST_LIBRARY="$library"
started 'a copy that knows the library' ".:$all" PMI_RANK=1 PMI_SIZE=2 "$ziastart" 1 $$ 0 -- ./show
for beside in nothing "somebody else's library"; do
	run env PMI_RANK=0 PMI_SIZE=2 "$ziastart" 1 $$ 0 -- ./show
	like "a copy beside $beside: rank 0 warns, and uses the library of ziatest" "$err/$out" \
		"ziaprobe: warning: the launcher has copied ziastart .*/\.:\[\] $library 1,$$,0"
	touch "$tmp/copied/libziaprobe.so"
done
unset OMPI_ZIATEST_LIBRARY
ziastart=$bin/ziastart

echo 'int main(void) { return 0; }' >"$tmp/static.c"
if cc -static -o static "$tmp/static.c" 2>/dev/null && cc -static-pie -o pie "$tmp/static.c"; then
	linked='is linked statically, so only programs that it starts can be measured; link it'
	linked="$linked dynamically, or measure ziaprobe instead"
	started 'a static program' "ziaprobe: warning: static $linked" "$ziastart" 1 $$ 0 -- static
	started 'a static pie, rank 0' "ziaprobe: warning: pie $linked" \
		PMIX_RANK=0 "$ziastart" 1 $$ 0 -- pie
	started 'a static program, rank 1' '' PMI_RANK=1 PMI_SIZE=2 "$ziastart" 1 $$ 0 -- static
else
	skip 'a static program' 'there is no static C library'
fi
finish
