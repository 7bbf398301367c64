#!/bin/sh
# The build: the padding survives every compiler option, there are no warnings, a program is rebuilt
# when its sources, command or compiler change, and neither a failure nor make clean leaves anything
. "$(dirname "$0")/lib.sh"
unset MPICC CC CPPFLAGS CFLAGS LDFLAGS LDLIBS PAD STRICT	# make would use them

pad=104857600
cp -r Makefile ziatest.c ziaprobe.c prepare observe explain preload run_ziatest.sh tools job doc \
	example-output README.md LICENSE "$tmp"
cp --parents tests/*.md tests/bench/README.md tests/helpers/init.c "$tmp"
cd "$tmp" || exit 1
touch files
find . | sort >files
all='ziatest ziastart libziaprobe.so ziaprobe'

built() {	# NAME MAKE-ARGUMENT...
	how=$1
	shift
	# shellcheck disable=SC2086 # words
	run make -B -s $all STRICT=1 "$@"
	is "$how: builds silently" "$out$err/$status" /0
	inspect "$how" ziaprobe
}
# Prints our symbols that an executable exports to libraries, without those of the start-up files
exported() {	# FILE
	"${cross-}nm" -D --defined-only "$1" | sed 's/.* //' |
		grep -vE '^(_|data_start$|opt(arg|err|ind)|stderr|ompi_|MPI|MPICH)' |
		LC_ALL=C sort | paste -s -d ' ' -
}
fences="$(sed -n 's/.*{[.]name = "\(.*\)", [.]own.*/\1/p' observe/pmi.c | LC_ALL=C sort |
	paste -s -d ' ' -) dlsym read write"
# inspect NAME PROGRAM: strips PROGRAM, and looks at it and at libziaprobe.so, which defines what it
# must intercept, and belongs to no MPI library
inspect() {
	"${cross-}strip" "$2"
	is "$1: exports only the fences" "$(exported "$2")" "$fences"
	ok "$1: 100 MiB after strip" [ "$(wc -c <"$2")" -ge $pad ]
	starts='MPI_Init MPI_Init_thread MPI_Session_init PMPI_Init PMPI_Init_thread'
	is "$1: the library exports only the fences and what starts MPI" \
		"$("${cross-}nm" -D --defined-only libziaprobe.so | sed 's/.* //' | grep -v ^_ |
			sort)" "$(echo "$starts $fences" | tr ' ' '\n' | sort)"
	is "$1: the library needs no MPI" "$("${cross-}readelf" -d libziaprobe.so |
		sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' |
		grep -vE '^(libc|libdl|ld-linux.*)\.so')" ''
}
for mpi in openmpi mpich; do
	if has_mpi $mpi; then
		built "-O0, $mpi" CFLAGS=-O0 MPICC=mpicc.$mpi
	fi
done
built 'gcc, -O3, LTO, -s, --gc-sections' \
	CFLAGS='-O3 -flto' LDFLAGS='-s -Wl,--gc-sections'
# The following builds use the compilers and linkers that are installed, besides ld.bfd; the list at
# the start of 'make check' shows which.
if has clang && has ld.lld; then
	built 'clang, ld.lld, LTO, --gc-sections' CC=clang \
		CFLAGS='-O3 -flto -ffunction-sections -fdata-sections' \
		LDFLAGS='-fuse-ld=lld -Wl,--gc-sections' \
		MPICC='env OMPI_CC=clang MPICH_CC=clang mpicc'
fi
for linker in gold mold; do
	if has ld.$linker; then
		built "ld.$linker, LTO" CFLAGS='-O2 -flto=auto -flto-partition=max' \
			LDFLAGS="-fuse-ld=$linker"
	fi
done
cross=aarch64-linux-gnu-
if has ${cross}gcc && has mpicc.openmpi; then
	# Uses the MPI headers of this machine; there is no MPI library to link with.
	include=$(mpicc.openmpi --showme:incdirs | sed 's/[^ ]\{1,\}/-I&/g')
	built aarch64 CC=${cross}gcc MPICC="${cross}gcc $include" \
		LDFLAGS=-Wl,--unresolved-symbols=ignore-all
fi
cross=

# shellcheck disable=SC2086 # words
rm -f $all
echo 'echo small >ziaprobe' >fake
run make ziaprobe MPICC='sh fake'
rm fake
like 'a missing pad: make fails' "$status$(echo "$err" | grep -v ^make)" \
	'[1-9]ziaprobe is smaller than 104857600 bytes: .*'
ok 'a missing pad: no executable is left' test ! -e ziaprobe

run mpicc -o by-hand ziaprobe.c observe/*.c explain/*.c
is 'by hand: builds silently' "$out$err/$status" /0
ok 'by hand: 100 MiB' [ "$(wc -c <by-hand)" -ge $pad ]
rm by-hand

run make install DESTDIR="$tmp/stage"
like 'no programs: make install fails' "$status$(echo "$err" | grep -v ^make)" \
	'[1-9].* run make first'
ok 'no programs: nothing is installed' test ! -e stage

touch .pad	# as a make that was killed leaves it
run make
is 'make: status 0, no warnings' "$err/$status" /0
like 'make: prints the four commands' "$out" 'cc .*\|cc .*\|cc .*\|mpicc .*'
ok 'make: no pad is left' test ! -e .pad
cp ziaprobe default
inspect 'the default' default
is 'the pad is in a read-only segment' \
	"$(readelf -lW default |
		awk '$1 == "LOAD" && length($5) > 8 && $5 > "0x06400000" { print $7 $8 }')" R0x1000
ok 'the pad does not compress' \
	[ "$(tail -c 60000000 default | head -c 10000000 | gzip -1 | wc -c)" -ge 10000000 ]
rm default
run make plain
like 'make plain: two commands, for one source each' "$err/$out/$status" \
	'/cc .* -o plain/ziatest ziatest.c *\|mpicc .*\|.*-o plain/ziaprobe ziaprobe.c */0'
# The plain ziatest starts the ziaprobe in the working directory.
printf '#!/bin/sh\ncmp "$2" "$PROBE" && echo "$@"\n' >plain/fake
chmod +x plain/fake
run sh -c "cd plain && PROBE=$PWD/plain/ziaprobe ./ziatest 4 './fake'"
like 'plain/ziatest starts plain/ziaprobe' "$out" "4 ./ziaprobe $stamp 4"
rm -r plain
run make
like 'nothing is built twice' "$out" 'make: Nothing to be done .*'
touch ziatest.c
run sh -c "umask 077; make install DESTDIR='$tmp/stage' PREFIX=/opt/zia"
is 'make install: its files' \
	"$(cd stage/opt/zia && echo bin/* lib/* share/man/*/* && cd lib*/ziatest/tools && echo *)" \
	'bin/ziaprobe bin/ziatest bin/ziatest-attach bin/ziatest-check bin/ziatest-compare '\
'bin/ziatest-summarize lib/libziaprobe.so lib/ziastart share/man/man1/ziaprobe.1 '\
'share/man/man1/ziatest-attach.1 share/man/man1/ziatest-check.1 '\
'share/man/man1/ziatest-compare.1 share/man/man1/ziatest-summarize.1 '\
'share/man/man1/ziatest.1
attach check collect compare look summarize ziatest'
ok 'make install builds nothing' [ ziatest -ot ziatest.c ]
cp "$(command -v sleep)" stage/opt/zia/bin/ziaprobe
stage/opt/zia/bin/ziaprobe 600 &
ok 'make install: ziaprobe is running' poll 60 sh -c "readlink /proc/$!/exe | grep -q ziaprobe"
run make install DESTDIR="$tmp/stage" PREFIX=/opt/zia
is 'make install again, while ziaprobe is running' "$status|$err" '0|'
ok 'the running ziaprobe is replaced' cmp ziaprobe stage/opt/zia/bin/ziaprobe
kill $!
mv stage/opt/zia moved	# so that the links must be relative
job=$top/example-output/bids/submission.tar.gz
run moved/bin/ziatest-summarize "$job"
is 'ziatest-summarize' "$status|$out|$err" "0|$("$top/tools/summarize" "$job")|"
run moved/bin/ziatest-compare --csv "$tmp/compare.csv" 'false -- ziaprobe'
like 'ziatest-compare launches' "$status $out$err" '1 A failed in turn 0: status 1.*'
run moved/bin/ziatest-check false -- ziaprobe
like 'ziatest-check launches, and finds ziaprobe' "$status $out$err" \
	'1 # Launch check: wrong: no rank answered, and the launcher exited .*'
run moved/bin/ziatest-attach 99999999
like 'ziatest-attach finds its parts' "$status $out$err" \
	'1 .*scontrol shows no job 99999999, .*'
is 'other users can read what is installed' "$(find moved ! -perm -4)" ''
rm -rf stage moved out err compare.csv .expected .got .lines
make -s clean
is 'make clean leaves nothing' "$(find . | sort)" "$(cat files)"

# Which programs are built. Small programs, with a small pad, save time.
mkdir -p small/prepare small/observe small/explain small/preload/starter \
	small/tools/ziatest small/tests small/one small/two
cp Makefile small
cp "$top/tests/versions" small/tests
cd small || exit 1
export PAD=1
echo 'int main(void) { return 0; }' | tee ziatest.c >ziaprobe.c
touch preload/libziaprobe.c explain/run.h prepare/new.h
echo 'int main(void) { return 0; }' >preload/starter/ziastart.c
(cd "$top" && echo observe/*.c) | xargs touch
for dir in one two; do
	printf '#!/bin/sh\nexec mpicc "$@"\n' >$dir/wrapper
done
printf '#!/bin/sh\necho 1..1; echo ok 1\n' >pass.t
chmod +x one/wrapper two/wrapper pass.t

# builds NAME PROGRAMS COMMAND...: COMMAND succeeds, and builds PROGRAMS
builds() {
	title=$1
	programs=$2
	shift 2
	run "$@"
	built=$(echo "$out" | sed -n 's/.* -o \([a-z.\/]*\) .*/\1/p' | paste -s -d ' ' -)
	is "$title" "$built/$status" "$programs/0" || diag "$out" "$err"
}
# make_special MACRO: with blanks, and with what is special in make, the shell or grep
# shellcheck disable=SC2016 # make expands the first dollar, the shell the second
make_special() {
	make CFLAGS='  -O1   -g ' \
		CPPFLAGS="-D$1"' -DA="a, b)" -DB='\''"c  (%s) #"'\'' -DC=$$HOME -DD=\" -DE=[.*]'
}
# left: prints which of the files that make writes exist
left() {
	find .pad build.txt changes.diff libziaprobe.so ziaprobe ziastart ziatest 2>/dev/null |
		paste -s -d ' ' -
}

builds 'make, make check, make: builds once' "$all" env MPICC='env X=1 mpicc' \
	sh -c 'make && make check TESTS=./pass.t && make'
builds 'nothing is remembered' "$all" make
builds 'special characters' "$all" make_special X
is 'build.txt has the commands that make printed' \
	"$(sed -n 's/^command: \(.*\) \[.*/\1/p' build.txt)" \
	"$(echo "$out" | grep -e ' -o ')"
builds 'the same special characters' '' make_special X
builds 'other special characters' "$all" make_special Y
make -s
builds 'another pad' "$all" make PAD=2
builds 'the same pad from the environment' '' env PAD=2 make
ln -s ../one/wrapper two/link
make -s MPICC=two/link
ln -sf wrapper two/link
builds 'the link leads to another compiler' "$all" make MPICC=two/link
env PATH="$PWD/one:$PATH" make -s CC=wrapper
builds 'a compiler of the same name elsewhere in PATH' "$all" \
	env PATH="$PWD/two:$PATH" make CC=wrapper
make -s
touch explain/run.h
builds 'a changed header' 'ziastart libziaprobe.so ziaprobe' make
touch prepare/new.h
builds 'a changed header of ziatest' ziatest make
touch observe/new.c
builds 'a new source' "$all" make
builds 'a lost library' libziaprobe.so sh -c 'rm libziaprobe.so && make'
run make -n -B LDFLAGS=-static ziaprobe libziaprobe.so
is 'a static build: only ziaprobe is static, and sees no fences' \
	"$(printf '%s\n' "$out" | grep -v -e ^printf -e 'run make' -e ziastart |
		grep -oE -e '-static|-DINTERPOSE|-o [a-z.]+' | paste -s -d ' ' -)" \
	'-static -o ziaprobe -DINTERPOSE -o libziaprobe.so'
like 'a build with a static libgcc is not a static build' \
	"$(make -n -B LDFLAGS=-static-libgcc ziaprobe)" \
	'.*\|mpicc [^|]* -DINTERPOSE .*'
builds 'a program by itself' ziaprobe make ziaprobe CFLAGS=-O0
builds 'then all others, too' "$all" make
builds 'what measures programs, without an MPI' 'ziatest ziastart libziaprobe.so' \
	make -B ziatest ziastart libziaprobe.so MPICC=no-such-compiler
builds 'make -j 2 clean all' "$all" make -j 2 clean all
is 'make -j 2 clean all: leaves a complete build' "$(left)" \
	'build.txt changes.diff libziaprobe.so ziaprobe ziastart ziatest'

is 'changes.diff outside git' "$(cat changes.diff)" UNKNOWN
is 'the commit outside git' "$(grep ^commit: build.txt)" 'commit: UNKNOWN'
if has git; then
	git init -q
	cp "$top/.commit" "$top/.gitattributes" "$top/.gitignore" .
	mkdir doc
	echo >doc/page.md
	git add .
	git rm -q --cached observe/new.c
	git -c user.name=t -c user.email=t -c commit.gpgsign=false commit -q -m t
	echo >>ziatest.c
	echo >>doc/page.md
	touch tools/ziatest/new.py
	make -s
	is 'changes.diff: changed and untracked sources' \
		"$(sed -n 's/^diff .* b\///p' changes.diff | paste -s -d ' ' -)" \
		'ziatest.c observe/new.c tools/ziatest/new.py'
	# make dist reads the version from options.c, and compares the sources with the build.txt of
	# the sample, which is that of this build.
	echo '/* "ziatest 1.2" */' >prepare/options.c
	make -s
	mkdir -p example-output/bids
	tar -czf example-output/bids/submission.tar.gz --transform 's|^|ziatest-job/|' build.txt
	git add .
	git -c user.name=t -c user.email=t -c commit.gpgsign=false commit -q -m t
	make -s dist
	tar -xzf ziatest-1.2.tar.gz -C "$tmp"
	make -s -C "$tmp/ziatest-1.2"
	is 'make dist: what is built from the archive has the commit' \
		"$(grep ^commit: "$tmp/ziatest-1.2/build.txt")" \
		"commit: $(git rev-parse --short HEAD)"
	rm ziatest-1.2.tar.gz
	source=$(sed -n 's/^[0-9a-f]\{64\}  //p' build.txt | grep '\.[ch]$' | shuf -n 1)
	echo >>"$source"
	run make -s dist
	like "make dist, after $source has changed: refuses" \
		"$status $err, archives: $(echo ./*.tar.gz)" \
		"2 .*tests/demos/samples .*; these differ: $source\|.*, archives: ./\*.tar.gz"
	git checkout -q "$source"
fi

# What an earlier build has left must not look like the result of one that fails.
printf '#!/bin/sh\ntouch ziaprobe\nkill $PPID\nexec sleep 60\n' >one/killer
printf '#!/bin/sh\nexit 1\n' >one/sha256sum
printf '#!/bin/sh\ncase $* in *-Ipreload*) touch libziaprobe.so; exit 1 ;; esac\nexec cc "$@"\n' \
	>one/no-library
chmod +x one/*
# broken NAME LEFT COMMAND...: COMMAND fails, and leaves the files LEFT
broken() {
	make -s
	title=$1 leaves=$2
	shift 2
	run "$@"
	like "$title: fails, and leaves nothing that looks finished" "$status $(left)" \
		"[1-9][0-9]* changes.diff $leaves"
}
broken 'no MPICC' 'libziaprobe.so ziastart ziatest' make MPICC=no-such-compiler
broken 'make is killed' 'libziaprobe.so ziastart ziatest' make MPICC=one/killer
broken 'no library' 'ziaprobe ziastart ziatest' make CC=one/no-library
broken 'no CC' 'libziaprobe.so ziaprobe ziastart' make CC=no-such-compiler
broken 'no build.txt' 'libziaprobe.so ziaprobe ziastart ziatest' \
	env PATH="$PWD/one:$PATH" make -B
finish
