#!/bin/sh
# ziatest: the command line that it builds, prints and executes. The launcher is a fake that prints
# its arguments.
. "$(dirname "$0")/lib.sh"

bin=$tmp/bin here=$tmp/here
mkdir -p "$bin" "$here/other" "$tmp/links" "$tmp/lib" "$tmp/a b" "$tmp/a:b" "$tmp/it's a \$HOME"
# shellcheck disable=SC2086 # options
cc $sanitize -o "$bin/ziatest" ziatest.c prepare/*.c &&
	cc -shared -fPIC -DLIBC -o "$tmp/libc.so" tests/helpers/fakes.c || exit 1
cat >"$bin/fake" <<'END'
#!/bin/sh
# Prints its arguments, each in <>
for word; do printf '<%s>' "$word"; done
echo
END
chmod +x "$bin/fake"
for name in bin/mpirun bin/4x bin/ziastart bin/a=b here/ziaprobe here/other/ziaprobe; do
	cp "$bin/fake" "$tmp/$name"
done
touch "$bin/libziaprobe.so"
ln -s "$bin/ziatest" "$tmp/links"
PATH=$bin:$PATH
cd "$here" || exit 1
unset SLURM_KILL_BAD_EXIT

# Each line: the arguments, as in a shell, and what they start. The printed line does the same. A
# program is started by ziastart, which gets the same arguments as ziaprobe, except that the names
# of files are absolute, and then -- and the program. If a rank of ziaprobe crashes, srun ends the
# others, unless the user decides otherwise.
stamp_words='<[0-9]{10}><[0-9]{1,6}>'
probe="<./ziaprobe>$stamp_words"
starter="<$bin/ziastart>$stamp_words"
# shellcheck disable=SC2034 # in the table
start="$starter<0><--verbose><-->"
while IFS= read -r row; do
	eval "set -- ${row%% => *}"
	run env ZIAPROBE=1,2,0 ziatest "$@"
	like "starts: ${row%% => *}" "$out" "$(eval "echo \"${row#* => }\"")"
	is "starts: ${row%% => *}: the printed line" \
		"$(OMPI_ZIATEST_LIBRARY=$bin/libziaprobe.so sh -c "$err")" \
		"$out"
done <<'END'
4 => <-npernode><4>$probe<4>
4 'fake --ntasks 1024 --ntasks-per-node ' => <--ntasks><1024><--ntasks-per-node><4>$probe<4>
012 'fake --map-by ppr:{}:node -x {}' => <--map-by><ppr:12:node><-x><12>$probe<12>
--timeout=0030 -w 0.75 -vv 4 fake => <4>$probe<4><--timeout><30><--where><0.75>(<--verbose>){2}
--where=7 -vqt9 --start-only 4 fake => <4>$probe<4><--where><7><--timeout><9><--start-only>
--ranks 'a b' -v --csv '$HOME' 4 fake => <4>$probe<4><--ranks><a b><--csv><[$]HOME><--verbose>
4 'fake ${SLURM_KILL_BAD_EXIT-unset}' ./a => <unset><4>$starter<4><--><./a>
4 'fake $OMPI_ZIATEST_LIBRARY ${ZIAPROBE-}' ./a => <$bin/libziaprobe.so><4>$starter<4><--><./a>
-v --csv "it's\$x" 4 fake ./a => <4>$starter<4><--csv><$here/it's[$]x><--verbose><--><./a>
-t 5 --ranks /r 4 fake ./a => <4>$starter<4><--timeout><5><--ranks></r><--><./a>
4 'fake $((1 + 1))' ./a -h '' "it's" '{}  |' => <2><4>$starter<4><--><./a><-h><><it's><[{]}  [|]>
4 fake ziaprobe => <4>$probe<4>
4 fake other/ziaprobe => <4><other/ziaprobe>$stamp_words<4>
-- 4 fake => <4>$probe<4>
--ranks -- 4 fake => <4>$probe<4><--ranks><-->
--ranks -- fake -- ziaprobe => $probe<0><--ranks><--><--verbose>
fake -- ./ziaprobe => $probe<0><--verbose>
-v -v -v fake -- ziaprobe => $probe<0><--verbose><--verbose>
-vvq fake -- ziaprobe => $probe<0>
-vv -qv fake -- ziaprobe => $probe<0><--verbose>
--ppn 04 --csv x fake -- ./a => $starter<0><--ppn><4><--csv><$here/x><--verbose><--><./a>
fake -n 4 -- ./a -x => <-n><4>$start<./a><-x>
fake -- ./a -- x => $start<./a><--><x>
fake -- -- ./a => <-->$start<./a>
fake -- other/ziaprobe => <other/ziaprobe>$stamp_words<0><--verbose>
fake -- ../bin/fake ziaprobe => $start<../bin/fake><ziaprobe>
fake 1 -- ./a x : 2 -- ./b -- y => <1>$start<./a><x><:><2>$start<./b><--><y>
4x -n 4 -- ziaprobe => <-n><4>$probe<0><--verbose>
END
run ziatest 4 'fake $SLURM_KILL_BAD_EXIT'
like 'SLURM_KILL_BAD_EXIT is 1' "$out" '<1><4>.*'
run env SLURM_KILL_BAD_EXIT=0 ziatest 4 'fake $SLURM_KILL_BAD_EXIT'
like 'SLURM_KILL_BAD_EXIT=0 stays' "$out" '<0><4>.*'

# Plain words or the shell: ziatest must do what /bin/sh does with the line that ziatest printed.
there=$tmp/there preload=LD_PRELOAD=$tmp/libc.so
mkdir "$there" "$there/dir" "$there/sub"
touch "$there/match1" "$there/match2" "$there/plain"
cp "$bin/fake" "$there/ziaprobe"
cp "$bin/fake" "$there/here"
cp "$bin/fake" "$there/sub"
sed 1d "$bin/fake" >"$there/bare"
{ echo '#!/no/such/interpreter'; cat "$there/bare"; } >"$there/lost"
chmod +x "$there/bare" "$there/lost"
# Directories in which fake is not executable, or is a directory itself
mkdir -p "$there/in-plain" "$there/in-dir/fake"
touch "$there/in-plain/fake"

# did COMMAND...: runs COMMAND in $there. Prints stdout, the status, the names of all files, and
# what redirections wrote. Leaves stderr in $tmp/err.
did() {
	(cd "$there" && "$@" 2>"$tmp/err" </dev/null)
	echo "status: $?"
	ls "$there"
	cat "$there/out" "$there/4" 2>/dev/null
	rm -f "$there/out" "$there/4"
}

# same KIND LAUNCHER [ENV-ARGUMENT...]: passes if ziatest prints LAUNCHER byte for byte, and does
# what /bin/sh does with the printed line: without /bin/sh if KIND is plain, and by an exec of
# /bin/sh if KIND is shell.
same() {
	kind=$1 launcher=$2
	shift 2
	did env "$@" "$preload" "$bin/ziatest" 4 "$launcher" >"$tmp/of_ziatest"
	line=$(sed '/^by .bin.sh$/,$d' "$tmp/err")
	by=$(grep -cx 'by /bin/sh' "$tmp/err" | tr 01 ps)
	did env "$@" /bin/sh -c "$line" >"$tmp/of_shell"
	case $launcher in
	*{}*) begin=$(printf '%s\n' "$launcher" | sed 's/{}/4/g') ;;
	*) begin="$launcher 4" ;;
	esac
	title=$(printf '%.75s' "$launcher" | LC_ALL=C tr -c '[:print:]' ' ' | sed 's/\\/&&/g')
	is "$kind: $title" "$by $line$(diff "$tmp/of_shell" "$tmp/of_ziatest" 2>&1)" \
		"${kind%"${kind#?}"} $begin ./ziaprobe 7 42 4"
}

while IFS= read -r row; do
	same "${row%%:*}" "${row#*:}"
done <<'END'
plain:  	fake  a	b 	--opt=c,d:e@f%g+h^i!j
plain:fake {} a{}b --{}={}
plain:sub/fake a
plain:env FOO=bar fake a
plain:false
plain:fake then ! if done
shell:N={} fake -x file
shell:exec fake a
shell:no-such-program -n
shell:./plain
shell:./dir
shell:./bare a
shell:./lost a
shell:fake a && fake b
shell:fake a >out
shell:fake "$HOME" $UNSET "$UNSET" $(echo a  b) $((1 + 2)) $(
shell:fake match* match? [ ] ~ ~/x x~ --dir=~
shell:fake "$(echo "a" | cat)" "|"
shell:fake ${NONE:-a|b} "${NONE:-c|d}"
shell:fake "$(echo "4 | 8")"
shell:fake "a$" "$(echo "$(echo 'a|b')")|" "(|"
shell:fake `echo "$(echo 4 | cat)" | cat`
shell:echo a | cat; fake
shell:echo a | cat && fake
shell:false||fake
shell:fake a\|b
shell:fake 'a " | b'
shell:fake "a \" | b"
shell:fake 2>| log
END
for character in '&& fake' ';' '<' '>' '(' ')' '$' '`' '"' "'" '*' '?' '[' ']' '{' '}' '#' '~'; do
	same shell "fake a$character"
done
same plain 'fake a	'
same plain "$(printf 'fake a\rb \013c\014 \201\210\240\377')"
same plain "fake$(seq -s ' ' 1000 | tr -d '[:digit:]' | sed 's/ / a/g')"
same shell 'fake a
fake b'
# The environment begins behind the last argument, so it is what a scan beyond the launcher reads.
same shell "fake a\\" -i 'A=}' "PATH=$PATH" "ASAN_OPTIONS=$ASAN_OPTIONS"
same plain 'here a' PATH=
same plain 'here a' "PATH=:$PATH"
same shell 'here a' -u PATH
same plain 'fake a' "PATH=in-plain:in-dir:$PATH"

for case in 2:127 13:126; do	# ENOENT, EACCES
	run env "$preload" "NO_SHELL=${case%:*}" ziatest 4 'fake;'
	like "without /bin/sh, errno ${case%:*}: status ${case#*:}" "$out/$err/$status" \
		"/fake; [^|]*\|ziatest: error: cannot run /bin/sh: [^|]+/${case#*:}"
done

# described NAME EXPECTED ENV-ARGUMENT...: checks the variables that describe the launch node: the
# node, whether the process id is that of ziatest, which becomes the launcher, and the maximum error
described() {
	title=$1 expected=$2
	shift 2
	run env -u ZIATEST_SYNC OMPI_ZIATEST_NODE=old OMPI_ZIATEST_PID=0 OMPI_ZIATEST_SYNC=old \
		"$@" ziatest 1 'fake "$OMPI_ZIATEST_NODE" $(($$ == $OMPI_ZIATEST_PID)) \
		"${OMPI_ZIATEST_SYNC-unset}"'
	like "$title" "$out" "$expected<1>.*"
}
id=$(cat /proc/sys/kernel/random/boot_id)
described 'the boot id' "<$id><1><([0-9]+|unset)>"
described 'without a boot id, the nodename' "<$(uname -n)><1><500>" "$preload" HIDE=1
described 'a maximum error below 16 s' "<$id><1><15999999>" "$preload" MAXERROR=15999999
described 'a maximum error of 16 s' "<$id><1><unset>" "$preload" MAXERROR=16000000
described 'without adjtimex, no maximum error' "<$id><1><unset>" "$preload" MAXERROR=
described 'ZIATEST_SYNC is passed on unchanged' "<$id><1>< 7 us>" "$preload" 'ZIATEST_SYNC= 7 us'

ziatest 1 'touch launched; fake' >/dev/full 2>&1
is 'the command line cannot be printed: status 1' $? 1
ok 'the command line cannot be printed: nothing is launched' test ! -e launched

# What lies next to ziatest: ./ziaprobe comes first, and a program needs ziastart and the library.
mv ziaprobe "$bin/ziaprobe"
mkdir ziaprobe
run "$tmp/links/ziatest" 3 fake
like 'the probe next to ziatest is used, not a directory' "$err" "fake 3 $bin/ziaprobe $stamp 3"
odd="$tmp/it's a \$HOME"
cp "$bin/ziatest" "$bin/ziaprobe" "$odd"
run "$odd/ziatest" 3 fake
like 'the path of the probe is one word' "$out" \
	"<3><$tmp/it's a \\\$HOME/ziaprobe>$stamp_words<3>"
is 'it is also one word to a shell that reads the printed line' "$(sh -c "$err")" "$out"
mv "$bin/ziaprobe" "$tmp"
# starts_program NAME PATTERN: passes if $ziatest, given a program, prints PATTERN
starts_program() {
	run "$ziatest" 4 fake ./a
	like "a program, $1" "$out/${err##fake*}/$status" "$2"
}
ziatest=$tmp/links/ziatest
starts_program 'ziatest is a symbolic link, no ziaprobe' "<4>$starter<4><--><./a>//0"
mv "$bin/ziastart" "$bin/libziaprobe.so" "$tmp/lib"
starts_program 'ziastart is in ../lib' "<4><$tmp/lib/ziastart>$stamp_words<4><--><./a>//0"
mv "$tmp/lib/ziastart" "$tmp"
starts_program 'no ziastart' "/ziatest: error: cannot find ziastart, which starts your program, \
next to ziatest or in ../lib; build it with 'make'/1"
for path in "$tmp/a b" "$tmp/a:b"; do
	cp "$bin/ziatest" "$tmp/ziastart" "$path"
	ziatest=$path/ziatest
	starts_program "ziastart is in ${path##*/}" "/ziatest: error: cannot preload \
libziaprobe.so, which is next to '$path/ziastart': the path contains a blank or a colon; move .*/1"
done
mv "$tmp/ziastart" "$bin"
ziatest=$bin/ziatest
starts_program 'no library' "/ziatest: error: cannot read '$bin/libziaprobe.so': No such file or \
directory; build it with 'make'/1"
mv "$tmp/lib/libziaprobe.so" "$bin"
run ziatest 3 fake
like 'no probe: one error, nothing launched' "$out/$err/$status" \
	"/ziatest: error: cannot find an executable ziaprobe .*'make'/1"
rmdir ziaprobe
mv "$tmp/ziaprobe" .

# Usage errors launch nothing. Each line: the arguments, as in a shell, and the message
while IFS= read -r row; do
	eval "set -- ${row%% => *}"
	run ziatest "$@"
	like "a usage error: ${row%% => *}" "$out/$err/$status" \
		"/ziatest: error: ${row#* => }\|usage: ziatest .*/2"
done <<'END'
0 fake => N must be a whole number from 1 to 2147483647, not '0'
'' fake => N must be .*, not ''
+4 fake => N must be .*, not '\+4'
2147483648 fake => N must be .*, not '2147483648'
5x -n 4 -- ./a => N must be .*, not '5x'
-- 5x fake => N must be .*, not '5x'
--timeout -1 4 fake => --timeout must be .*, not '-1'
--ppn 0 fake -- ziaprobe => --ppn must be .*, not '0'
--ppn 2 4 fake => --ppn 2 and N = 4 are both given; leave out --ppn
-w 0.000 4 fake => --where must be a number of seconds above 0, such as 0\.7, not '0\.000'
-w 1. 4 fake => --where must be .*, not '1\.'
-w .5 4 fake => --where must be .*, not '\.5'
-w 1.2345 4 fake => --where must be .*, not '1\.2345'
-w 9999999999 4 fake => --where must be .*, not '9*'
-v -n4 fake => unknown option or missing value: '-n4'
--csv '' 4 fake => empty file name for --csv or --ranks; name a file
 => the launcher is missing; give one, as in 'ziatest srun .* -- ziaprobe'
4 '' => '', the argument after N, is not a launcher; put options before N
4 '	 #x' => '	 #x', the argument after N, is not a launcher; .*
4 ' -v' => ' -v', the argument after N, is not a launcher; .*
--csv 4 'a -n' => 'a -n' is not a launcher; leave out .*, as in 'ziatest a -n N -- ziaprobe', or .*
'fake -n' 4 -- ./a => 'fake -n' is not a launcher; .*, as in 'ziatest fake -n 4 -- ./a', or .*
X=1 fake -- ./a => 'X=1' is not a launcher; to set a variable, write 'env X=1 fake'
X=1 -- ./a => 'X=1' is not a launcher; to set a variable, write 'env X=1 \.\.\.'
-q srun 'a b' -n 4 => -- is missing; .* write:\|	ziatest -q srun 'a b' -n 4 -- ziaprobe
fake -n 4 ziaprobe => -- is missing; .* write:\|	ziatest fake -n 4 -- ziaprobe
fake -n 1 -- ./a : -n 2 ./b => -- is missing after ':'; write -- before each program, .*
4 fake --ntasks 4 => '--ntasks' is not a program; quote the launcher .*: 'fake \.\.\.', or .*
4 fake '' 4 => '' is not a program; quote the launcher with its options: .*
4 fake A=2 ./a => 'A=2' is not a program; to set a variable, write 'env A=2 ./a'
4 fake n=4/a => 'n=4/a' is not a program; to set a variable, write 'env n=4/a \.\.\.'
-- -- 4 => '--' is not a program; after --, name the program, and then its options
fake -- -n 4 => '-n' is not a program; after --, .*
fake -- X=1 ./a => 'X=1' is not a program; to set a variable, write 'env X=1 ./a'
fake ./a -- => the program is missing; write it after -- or, for the benchmark itself, ziaprobe
fake -- -- => the program is missing; .*
-- => the program is missing; .*
fake -- ./a : -n 2 -- => the program is missing; .*
fake -- ./a : -- other/ziaprobe => ziaprobe cannot be one of several programs; launch it alone
fake -- ./ziaprobe -v => ./ziaprobe takes no arguments here, such as '-v'; write the options .*
4 fake ./ziaprobe -v => ./ziaprobe takes no arguments here, .*
fake -- env LD_PRELOAD=/x.so => LD_PRELOAD in 'LD_PRELOAD=/x.so' would replace libziaprobe.so; .*
fake -- env A=1 --unset LD_PRELOAD => LD_PRELOAD in 'LD_PRELOAD' would .*
fake -- env -uLD_PRELOAD ./a => LD_PRELOAD in '-uLD_PRELOAD' would .*
fake -- apptainer --env A=1,LD_PRELOAD=/x.so => LD_PRELOAD in .*
fake -- ./a : -n 2 -- sh -c 'LD_PRELOAD=/x.so ./b' => LD_PRELOAD in .*
4 'fake --multi' ./a => --multi-prog would read ziastart as its list of programs; .*
4 'fake -n {} --multi-prog=' ./a => --multi-prog would .*
fake --multi-prog -- ./a => --multi-prog would .*
fake -- ./a : --multi-prog -- ./b => --multi-prog would .*
--csv 'a b' 4 fake ./a => with a program, file names must not contain .* commas: '.*/here/a b'
--ranks a,b fake -- ./a => with a program, file names must .*'
END
while IFS= read -r arguments; do
	eval "set -- $arguments"
	run ziatest "$@"
	is "no false alarm: $arguments" "$status" 0
done <<'END'
4 'fake --export=ALL,LD_PRELOAD=/x.so -n' ./a
4 'fake --multi-prog'
fake --multi-prog -- ziaprobe
fake -- ./LD_PRELOAD/a LD_PRELOAD.log --LD_PRELOAD --multi-prog 'do not set LD_PRELOAD here'
fake -- sh -c 'LD_PRELOAD=/x.so:$LD_PRELOAD ./a'
fake -- a=b
fake -- /only/on/the=nodes/a
fake -- ./a : -x LD_PRELOAD=/x.so -n 2 -- ./b
END
mkdir "$tmp/gone"
cd "$tmp/gone" || exit 1
rmdir "$tmp/gone"
run ziatest --csv runs.csv 4 fake ./a
like 'a program, no current directory' "$out/$err/$status" \
	"/ziatest: error: the current directory is unknown; give 'runs.csv' as an absolute path/1"
cd "$here" || exit 1

# A pipe would take N and the probe, and tee would overwrite the probe.
files=$(ls -l)
refused() {	# LAUNCHER
	run ziatest 4 "$1"
	is "a pipe is refused: $(echo "$1" | tr '\n' ' ')" "$out/$err/$status" "/ziatest: error: \
the launch line ends with a pipe, whose last command would get N and ziaprobe as arguments; put \
the pipe after ziatest, as in './ziatest N \"...\" 2>&1 | tee log', or into a script/2"
}
refused 'fake |
 tee log'
refused 'fake | # a comment
tee log'
refused 'fake | \
# a comment
tee log'
while IFS= read -r launcher; do
	refused "$launcher"
done <<'END'
fake|tee log
fake |& tee log
fake | tee log >&2
fake | tee log 0<&0
fake | tee log &>out
fake | tee >|log
fake '"' | tee log '"'
fake "'" | tee log "'"
fake `echo "a"` | tee log
fake | tee $(basename $(pwd)).log ${A:-${B}}
END
is 'a pipe is refused: no file is created, and the probe is unchanged' "$(ls -l)" "$files"

# The words form: LAUNCHER [ARGUMENT...] -- PROGRAM [ARGUMENT...]

# same_words WORD...: passes if ziatest starts WORDs as they are, without a shell, and prints a line
# with which a shell does the same
same_words() {
	did env "$preload" "$bin/ziatest" --ppn 2 "$@" -- ziaprobe >"$tmp/of_ziatest"
	line=$(cat "$tmp/err")
	did "$@" ./ziaprobe 7 42 0 --ppn 2 --verbose >"$tmp/of_words"
	did /bin/sh -c "$line" >"$tmp/of_shell"
	is "words: $(printf '%.75s' "$*" | tr -c '[:print:]' ' ')" "$(cd "$tmp" || exit
		diff of_words of_ziatest
		diff of_shell of_ziatest)" ''
}
same_words fake
same_words fake 'a  b' "it's" '$HOME' '{}' '' '|' '>out' '*' '~' '#' 'a;b' '`id`' '"' 'x
y'
same_words ./here {}
same_words false
same_words sh -c 'fake "$@" | cat' sh -n 4
same_words fake "$(printf '%100000s' '' | tr ' ' a)"

# failing LAUNCHER STATUS MESSAGE: passes if LAUNCHER causes this error
failing() {
	did "$bin/ziatest" "$1" -- ziaprobe >"$tmp/of_ziatest"
	like "words: the launcher $1" "$(tail -n 1 "$tmp/err")/$(sed -n 's/^status: //p' \
		"$tmp/of_ziatest")" "$3/$2"
}
failing no-such-program 127 "ziatest: error: cannot find the launcher 'no-such-program'; check .*"
failing ./no-such-program 127 "ziatest: error: cannot find the launcher './no-such-program'; .*"
failing ./plain 126 "ziatest: error: the launcher './plain' is not an executable file"
failing plain 127 "ziatest: error: cannot find the launcher 'plain'; check .*"
failing ./lost '(2|126|127)' 'sh: .*'
run sh -c "cd '$there' && '$bin/ziatest' ./bare a -- ziaprobe"
like 'words: a launcher without #! runs as in a shell' "$out/$status" "<a>$probe<0><--verbose>/0"

run ziatest -h
like '-h: the usage and more on stdout' "$out/$err$status" 'usage: ziatest .*/0'
run ziatest -V
like '-V: the version' "$out" 'ziatest [0-9.]+'
finish
