# ziatest: build, run, test, install
#
#	make MPICC=cc			use another MPI compiler wrapper
#	make CFLAGS=-O3 LDFLAGS=-flto	use other compiler and linker flags
#	make STRICT=1			enable warnings and treat them as errors (gcc, clang)
#	make check			run the tests; TESTS=tests/path.t runs just one
#	make soak ROUNDS=20 SEED=7	run launches with random faults
#	make bench			measure what the benchmark itself costs
#	make install PREFIX=~/.local	install both programs in PREFIX/bin
#
# Without any of the settings below, make reuses those of the last build. If you give any of them,
# on the command line or in the environment, or after 'make clean', it takes the others from this
# file.
settings = MPICC CC CPPFLAGS CFLAGS LDFLAGS LDLIBS FENCE PAD STRICT

MPICC  ?= mpicc
CFLAGS ?= -O2 -std=c11
PREFIX  = /usr/local
DESTDIR =

# The size of the pad in ziaprobe, in bytes. The specification requires a 100 MB executable. The pad
# is random so that it does not compress.
PAD ?= 104857600

# The flags that let ziaprobe see when a rank waits in MPI_Init (probe/fence.c). They export its
# fence functions to the MPI library, and none of its other names. A static build does not use
# them, nor does 'make FENCE='.
static = $(filter -static -static-pie,$(MPICC) $(CPPFLAGS) $(CFLAGS) $(LDFLAGS) $(LDLIBS))
FENCE ?= $(if $(static),,-DSEE_FENCES -rdynamic -fvisibility=hidden -ldl)

# .settings holds the settings of the last build that succeeded. It is ignored if this file has
# changed since.
given = $(filter command environment,$(foreach name,$(settings),$(origin $(name))))
ifeq ($(given)$(filter clean,$(MAKECMDGOALS)),)
-include $(shell find .settings -newer Makefile 2>/dev/null)
endif

strict = $(if $(STRICT),-Wall -Wextra -Wpedantic -Werror)

sources = ziaprobe.c $(sort $(wildcard probe/*.c))
ziatest_command = $(CC) $(CPPFLAGS) $(CFLAGS) $(strict) $(LDFLAGS) -o ziatest ziatest.c $(LDLIBS)
ziaprobe_command = $(MPICC) $(CPPFLAGS) -DPAD_FILE=.pad $(CFLAGS) $(strict) $(LDFLAGS) -o ziaprobe \
	$(sources) $(FENCE) $(LDLIBS)

# What identifies a build: the command, and the compiler behind it, as a wrapper prints it with
# -show; for other compilers, the path.
compiler = $(shell $(1) -show 2>/dev/null || command -v $(firstword $(1)))
ziatest_build := $(ziatest_command) [$(call compiler,$(CC))]
ziaprobe_build := $(ziaprobe_command) [$(call compiler,$(MPICC))] PAD=$(PAD)

quote = '$(subst ','\'',$(1))'

all: ziatest ziaprobe build.txt changes.diff

# Rebuild a program if its command or compiler has changed.
ifneq ($(shell cat .ziatest.build 2>/dev/null),$(ziatest_build))
ziatest: FORCE
endif
ifneq ($(shell cat .ziaprobe.build 2>/dev/null),$(ziaprobe_build))
ziaprobe: FORCE
endif
FORCE:

ziatest: ziatest.c
	$(ziatest_command)
	@printf '%s\n' $(call quote,$(ziatest_build)) >.$@.build

# The pad is removed even if the compiler fails.
silent = $(findstring s,$(filter-out --%,$(firstword $(MAKEFLAGS))))
ziaprobe: $(sources) probe/run.h
	@$(if $(silent),,printf '%s\n' $(call quote,$(ziaprobe_command));) \
	trap 'rm -f .pad' EXIT; head -c $(PAD) /dev/urandom >.pad && $(ziaprobe_command)
	@if [ $$(wc -c <$@) -lt $(PAD) ]; then \
		echo '$@ is smaller than $(PAD) bytes: the pad is missing;' \
			'check CFLAGS and LDFLAGS' >&2; \
		exit 1; \
	fi
	@printf '%s\n' $(call quote,$(ziaprobe_build)) >.$@.build

# run_ziatest.sh archives build.txt, which records how the programs were built, and changes.diff,
# which records how the sources differ from the commit.
in_git = git ls-files --error-unmatch ziaprobe.c >/dev/null 2>&1
git_diff = git diff --no-color --no-ext-diff --src-prefix=a/ --dst-prefix=b/

recorded = $(filter-out %.md %/__pycache__,$(sort \
	$(wildcard *.c probe/* job/* Makefile run_ziatest.sh)))

# build.txt is made last, so .settings is written only after a successful build.
build.txt: ziatest ziaprobe changes.diff $(recorded)
	@{ echo "built: $$(date -u +%Y-%m-%dT%H:%M:%SZ)"; \
	echo "commit: $$($(in_git) && git describe --always --dirty || echo UNKNOWN)"; \
	printf 'command: %s\n' $(call quote,$(ziatest_command)) \
		$(call quote,$(ziaprobe_command)); \
	echo "compiler: $$($(CC) --version 2>&1 | head -n 1)"; \
	echo "MPI compiler: $$($(MPICC) --version 2>&1 | head -n 1)"; \
	echo "MPI compiler's flags: $$($(MPICC) -show 2>&1 | head -n 1)"; \
	for file in ziatest ziaprobe; do echo "size: $$(wc -c <$$file) $$file"; done; \
	sha256sum ziatest ziaprobe $(recorded); } >$@
	@printf '%s\n' $(foreach name,$(settings), \
		'define $(name)' $(call quote,$(value $(name))) endef) >.settings

changes.diff: ziatest ziaprobe $(recorded)
	@exec >$@; \
	$(in_git) || { echo UNKNOWN; exit; }; \
	$(git_diff) --relative HEAD; \
	git ls-files -z --others --exclude-standard '*.c' probe job | \
		xargs -0 -r -n 1 $(git_diff) --no-index /dev/null || :

# Runs ziatest on a virtual 4-node Slurm cluster on this machine, with 4 processes per node. To use
# MPICH: make run MPICC=mpicc.mpich
run: all
	@tests/run

# The README's example: the same, with a node that is slow on purpose.
slow: all
	@MPICC=$(call quote,$(MPICC)) tests/slow

# The longest tests start first.
long = $(addprefix tests/,job.t summary.t path.t faults.t build.t probe.t trace.t clocks.t jump.t)
TESTS ?= $(long) $(filter-out $(long),$(wildcard tests/*.t))
check: all
	@tests/versions
	@builds=$$(mktemp -d) && trap 'rm -rf "$$builds"' EXIT && export BUILDS="$$builds" && \
	MPICC=$(call quote,$(MPICC)) prove -j 4 --failures --comments $(TESTS)

soak: all
	tests/soak $(or $(ROUNDS),100) $(SEED)

# BENCH=full runs the long version.
bench: all
	MPICC=$(call quote,$(MPICC)) CC=$(call quote,$(CC)) tests/bench/run $(BENCH)

# Installs the existing programs without building, because root might use another compiler.
install:
	@if ! [ -x ziatest ] || ! [ -x ziaprobe ]; then \
		echo 'ziatest and ziaprobe have not been built; run make first' >&2; \
		exit 1; \
	fi
	mkdir -p $(DESTDIR)$(PREFIX)/bin
	cp ziatest ziaprobe $(DESTDIR)$(PREFIX)/bin

clean:
	rm -f ziatest ziaprobe build.txt changes.diff .pad .settings .ziatest.build \
		.ziaprobe.build tests/bench/results.csv

.DELETE_ON_ERROR:
.PHONY: all run slow check soak bench install clean FORCE
