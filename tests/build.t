#!/bin/sh
# The build: the padding survives every compiler option, there are no warnings, a program is rebuilt
# when its settings or compiler change, and make clean leaves nothing behind
. "$(dirname "$0")/lib.sh"
unset MPICC CC CPPFLAGS CFLAGS LDFLAGS LDLIBS FENCE PAD STRICT	# make would use them

pad=104857600
cp -r Makefile ziatest.c ziaprobe.c probe "$tmp"
cd "$tmp" || exit 1
touch files
find . | sort >files

# newer PROGRAM: prints the glibc symbols that PROGRAM imports and that glibc 2.17, the version of
# RHEL 7, does not have, then "of" and the number of all imported symbols. A symbol that has only
# moved to another library since then still has its old version as well, for old programs.
newer() {
	# shellcheck disable=SC2046 # libraries
	objdump -T $(ldd "$1" | grep -o '/[^ ]*') "$1" | awk -v program="$1:" '
	BEGIN { old["stat"] = old["fstat"] = 1 }	# inline functions until 2.33
	/file format/ { imports = $1 == program }
	!/GLIBC_/ { next }
	$(NF - 1) ~ /GLIBC_2\.([0-9]|1[0-7])(\.[0-9]+)?\)?$/ { old[$NF] = 1 }
	imports {
		# Newer headers rename strtol and similar functions to this
		sub(/^__isoc23_/, "", $NF)
		count++
		if (!($NF in old))
			printf "%s ", $NF
	}
	END { print "of", count }'
}

built() {	# NAME MAKE-ARGUMENT...
	how=$1
	shift
	rm -f ziaprobe
	run make -s ziaprobe "$@"
	is "$how: builds silently" "$out$err/$status" /0
	stripped "$how" ziaprobe
}
stripped() {	# NAME PROGRAM
	"${cross-}strip" "$2"
	is "$1: exports only the fences" "$(exported "$2")" "$fences"
	ok "$1: 100 MiB after strip" [ "$(wc -c <"$2")" -ge $pad ]
}
built '-O0' CFLAGS=-O0
built 'gcc, -O3, LTO, -s, --gc-sections' \
	CFLAGS='-O3 -flto' LDFLAGS='-s -Wl,--gc-sections'
# The following builds use the compilers and linkers that are installed; the list at the start of
# 'make check' shows which.
if has clang; then
	built 'clang, --gc-sections' MPICC='env OMPI_CC=clang MPICH_CC=clang mpicc' \
		CFLAGS='-O3 -ffunction-sections -fdata-sections' LDFLAGS='-Wl,--gc-sections'
fi
for linker in gold lld mold; do	# the build above uses ld.bfd
	has ld.$linker || continue
	compiler=gcc lto='-flto=auto -flto-partition=max'
	if [ $linker = lld ]; then	# lld does not support the LTO of gcc
		compiler=clang lto=-flto
	fi
	has $compiler || continue
	built "ld.$linker, LTO" CFLAGS="-O2 $lto" LDFLAGS="-fuse-ld=$linker" \
		MPICC="env OMPI_CC=$compiler MPICH_CC=$compiler mpicc"
done
cross=aarch64-linux-gnu-
if has ${cross}gcc && has mpicc.openmpi; then
	# Uses the MPI headers of this machine; there is no MPI library to link with.
	include=$(mpicc.openmpi --showme:incdirs | sed 's/[^ ]\{1,\}/-I&/g')
	built aarch64 MPICC="${cross}gcc $include" LDFLAGS=-Wl,--unresolved-symbols=ignore-all
	like 'aarch64: the machine' "$(readelf -h ziaprobe | grep Machine)" ' *Machine: *AArch64'
	run make -s ziatest CC=${cross}gcc
	is 'aarch64: ziatest builds silently' "$out$err/$status" /0
	rm ziatest
fi
cross=

rm -f ziaprobe
echo 'echo small >ziaprobe' >fake
run make ziaprobe MPICC='sh fake'
rm fake
ok 'a missing pad: make fails' [ "$status" -ne 0 ]
like 'a missing pad: the error' "$(echo "$err" | grep -v ^make)" \
	'ziaprobe is smaller than 104857600 bytes: .*'
ok 'a missing pad: no executable is left' test ! -e ziaprobe

run mpicc -o by-hand ziaprobe.c probe/*.c
is 'by hand: builds silently' "$out$err/$status" /0
ok 'by hand: 100 MiB' [ "$(wc -c <by-hand)" -ge $pad ]
rm by-hand

run make MPICC=no-such-compiler
ok 'no compiler: make fails' [ "$status" -ne 0 ]
ok 'no compiler: nothing is left' test ! -e ziaprobe

run make install DESTDIR="$tmp/stage"
ok 'no programs: make install fails' [ "$status" -ne 0 ]
like 'no programs: the error' "$(echo "$err" | grep -v ^make)" '.* run make first'
ok 'no programs: nothing is installed' test ! -e stage

rm -f ziatest
run make
is 'make: status 0, no warnings' "$err/$status" /0
like 'make: prints the two commands' "$out" 'cc .*\|mpicc .*'
cp ziaprobe default
stripped 'the default' default
is 'the pad is in a read-only segment' \
	"$(readelf -lW default |
		awk '$1 == "LOAD" && length($5) > 8 && $5 > "0x06400000" { print $7 $8 }')" R0x1000
ok 'the pad does not compress' \
	[ "$(tail -c 60000000 default | head -c 10000000 | gzip -1 | wc -c)" -ge 10000000 ]
rm default
for program in ziatest ziaprobe; do
	like "$program calls nothing that glibc 2.17 lacks" "$(newer $program)" 'of [1-9][0-9]*'
done
run make
like 'nothing is built twice' "$out" 'make: Nothing to be done .*'
cp ziatest before
touch ziatest.c
run make install DESTDIR="$tmp/stage" PREFIX=/opt/zia
ok 'make install' cmp ziaprobe stage/opt/zia/bin/ziaprobe
ok 'make install builds nothing' cmp before stage/opt/zia/bin/ziatest
ok 'make install builds nothing in this directory' [ ziatest -ot ziatest.c ]
run stage/opt/zia/bin/ziatest -V
is "the installed ziatest runs" "$status" 0
rm -r stage out err before
make -s clean
is 'make clean leaves nothing' "$(find . | sort)" "$(cat files)"

# Which programs are built, and with which settings. Small programs, with a small pad, save time.
mkdir small small/probe small/tests small/one small/two
cp "$top/tests/versions" small/tests
sed 's/^PAD .*/PAD = 1/' Makefile >small/Makefile
cd small || exit 1
echo 'int main(void) { return 0; }' | tee ziatest.c >ziaprobe.c
touch probe/run.h

# builds NAME PROGRAMS COMMAND...: COMMAND succeeds, and builds PROGRAMS
builds() {
	title=$1
	programs=$2
	shift 2
	run "$@"
	built=$(echo "$out" | sed -n 's/.* -o \([a-z]*\) .*/\1/p' | paste -s -d ' ' -)
	is "$title" "$built/$status" "$programs/0" || diag "$out" "$err"
}
# optimised: prints the level of optimisation with which each program was built
optimised() {
	sed -n 's/^command: .* -O\([0-3]\) .*/\1/p' build.txt | paste -s -d ' ' -
}

builds 'the first make' 'ziatest ziaprobe' make
builds 'other flags' 'ziatest ziaprobe' make CFLAGS=-O1
builds 'after other flags' '' make
builds 'another pad' 'ziaprobe' make CFLAGS=-O1 PAD=2
builds 'after another pad' '' make
builds 'only a pad' 'ziatest ziaprobe' make PAD=2
is 'only a pad: the flags are those of the Makefile' "$(optimised)" '2 2'
builds 'flags in the environment' 'ziatest ziaprobe' env CFLAGS=-O1 make
builds 'after flags in the environment' '' make
touch Makefile
builds 'a changed Makefile' 'ziatest ziaprobe' make
is 'a changed Makefile: its settings' "$(optimised)" '2 2'
make -s CFLAGS=-O1
builds 'make clean all' 'ziatest ziaprobe' make clean all
is 'make clean all: the settings of the Makefile' "$(optimised)" '2 2'
make -s CFLAGS=-O1
make -s clean
builds 'after make clean' 'ziatest ziaprobe' make
is 'after make clean: the settings of the Makefile' "$(optimised)" '2 2'
# shellcheck disable=SC2016 # make expands the first dollar, the shell the second
builds 'special characters' 'ziatest ziaprobe' \
	make CPPFLAGS='-DA="a, b)" -DB='\''"c  (%s) #"'\'' -DC=$$HOME -DD=\"'
builds 'after special characters' '' make
builds 'both programs in parallel' 'ziatest ziaprobe' sh -c 'make -j 2 CFLAGS=-O0 | sort'

for name in CC MPICC; do
	make -s clean all
	run make $name=no-such-compiler
	ok "a misspelt $name: make fails" [ "$status" -ne 0 ]
	builds "after a misspelt $name" '' make
	run make $name=false
	ok "$name=false: make fails" [ "$status" -ne 0 ]
	ok "$name=false: no pad is left" test ! -e .pad
done

cat >one/wrapper <<'END'
#!/bin/sh
if [ "$1" = -show ]; then
	echo "$SHOWN"
elif [ "$1" = --version ]; then
	exit 1
else
	exec mpicc "$@"
fi
END
printf '#!/bin/sh\nif [ $# -lt 2 ]; then exit 1; fi\nexec mpicc "$@"\n' >one/plain
printf '#!/bin/sh\nexit 1\n' >two/sha256sum
chmod +x one/* two/*
cp one/plain two
make -s clean all
builds 'another wrapper' 'ziaprobe' env SHOWN=a PATH="$PWD/one:$PATH" make MPICC=wrapper
builds 'the same wrapper' '' env SHOWN=a PATH="$PWD/one:$PATH" make
builds 'a wrapper with other flags' 'ziaprobe' env SHOWN=b PATH="$PWD/one:$PATH" make
builds 'compilers without -show and --version' 'ziatest ziaprobe' \
	env PATH="$PWD/one:$PATH" make CC=plain MPICC=plain
builds 'the same compilers' '' env PATH="$PWD/one:$PATH" make
run env PATH="$PWD/two:$PATH" make CFLAGS=-O0
ok 'no build.txt: make fails' [ "$status" -ne 0 ]
ok 'no build.txt: none is left' test ! -e build.txt
builds 'back to the last successful build' 'ziatest ziaprobe' env PATH="$PWD/one:$PATH" make
mv one/plain one/wrapper	# of the same name, in another directory of PATH
builds 'compilers of the same name elsewhere in PATH' 'ziatest ziaprobe' \
	env PATH="$PWD/one:$PWD/two:$PATH" sh -c 'rm two/sha256sum; make'

cat >mpicc.t <<'END'
#!/bin/sh
printf '1..1\nok 1\n# MPICC: %s\n' "$MPICC"
END
chmod +x mpicc.t
make -s MPICC='env X=1 mpicc'
builds 'make check with the MPI of the build' '' make check TESTS=./mpicc.t
like 'the tests get MPICC' "$(echo "$out" | grep '^# MPICC')" '# MPICC: env X=1 mpicc'

touch probe/new.c
make -s
is 'changes.diff outside git' "$(cat changes.diff)" UNKNOWN
if has git; then
	git init -q
	git add Makefile zia*.c probe/run.h
	git -c user.name=t -c user.email=t -c commit.gpgsign=false commit -q -m t
	echo >>ziatest.c
	make -s
	is 'changes.diff: changed and untracked sources' \
		"$(sed -n 's/^diff .* b\///p' changes.diff | paste -s -d ' ' -)" \
		'ziatest.c probe/new.c'
fi
cd ..
rm -r small

for cc in gcc clang; do
	has $cc || continue
	for mpi in openmpi mpich; do
		has_mpi $mpi || continue
		ok "no warning: $cc, $mpi" make -s ziatest ziaprobe STRICT=1 PAD=1 CC=$cc \
			MPICC="env OMPI_CC=$cc MPICH_CC=$cc mpicc.$mpi"
		make -s clean
	done
done
finish
