#!/bin/sh
# The build: the padding survives every compiler option, there are no warnings, and make clean
# leaves nothing behind
. "$(dirname "$0")/lib.sh"

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
	"${cross-}strip" ziaprobe
	is "$how: exports only the fences" "$(exported ziaprobe)" "$fences"
	ok "$how: 100 MiB after strip" [ "$(wc -c <ziaprobe)" -ge $pad ]
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
for linker in bfd gold lld mold; do
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
built 'the default'
is 'the pad is in a read-only segment' \
	"$(readelf -lW ziaprobe |
		awk '$1 == "LOAD" && length($5) > 8 && $5 > "0x06400000" { print $7 $8 }')" R0x1000
ok 'the pad does not compress' [ "$(gzip -1 <ziaprobe | wc -c)" -ge $pad ]

rm -f ziaprobe
run make ziaprobe MPICC='echo small >ziaprobe #'
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

run make
is 'make: status 0' "$status" 0
for program in ziatest ziaprobe; do
	like "$program calls nothing that glibc 2.17 lacks" "$(newer $program)" 'of [1-9][0-9]*'
done
run make
like 'nothing is built twice' "$out" 'make: Nothing to be done .*'
run make install DESTDIR="$tmp/stage" PREFIX=/opt/zia
ok 'make install' cmp ziaprobe stage/opt/zia/bin/ziaprobe
run stage/opt/zia/bin/ziatest -V
is "the installed ziatest runs" "$status" 0
rm -r stage out err
make -s clean
is 'make clean leaves nothing' "$(find . | sort)" "$(cat files)"

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
