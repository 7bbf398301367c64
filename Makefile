# ziatest: build, run, test, install
#
#	make MPICC=cc			use another MPI compiler wrapper
#	make CFLAGS=-O3 LDFLAGS=-flto	use other compiler and linker flags
#	make STRICT=1			enable warnings and treat them as errors (gcc, clang)
#	make check			run the tests; TESTS=tests/path.t runs just one
#	make soak ROUNDS=20 SEED=7	run launches with random faults
#	make bench			measure what the benchmark itself costs
#	make install PREFIX=~/.local	install both programs in PREFIX/bin

MPICC   = mpicc
CFLAGS  = -O2 -std=c11
PREFIX  = /usr/local
DESTDIR =

# The size of the pad in ziaprobe, in bytes. The specification requires a 100 MB executable. The pad
# is random so that it does not compress.
PAD = 104857600

# The flags that let ziaprobe see when a rank waits in MPI_Init (probe/fence.c). They export its
# fence functions to the MPI library, and none of its other names. A static build does not use
# them, nor does 'make FENCE='.
static = $(filter -static -static-pie,$(MPICC) $(CPPFLAGS) $(CFLAGS) $(LDFLAGS) $(LDLIBS))
FENCE = $(if $(static),,-DSEE_FENCES -rdynamic -fvisibility=hidden -ldl)

strict = $(if $(STRICT),-Wall -Wextra -Wpedantic -Werror)

sources = ziaprobe.c $(sort $(wildcard probe/*.c))
ziatest_command = $(CC) $(CPPFLAGS) $(CFLAGS) $(strict) $(LDFLAGS) -o ziatest ziatest.c $(LDLIBS)
ziaprobe_command = $(MPICC) $(CPPFLAGS) -DPAD_FILE=.pad $(CFLAGS) $(strict) $(LDFLAGS) -o ziaprobe \
	$(sources) $(FENCE) $(LDLIBS)

quote = '$(subst ','\'',$(1))'

all: ziatest ziaprobe build.txt changes.diff

ziatest: ziatest.c
	$(ziatest_command)
	@echo $(call quote,$(ziatest_command)) >.$@.command

ziaprobe: $(sources) probe/run.h .pad
	$(ziaprobe_command)
	@if [ $$(wc -c <$@) -lt $(PAD) ]; then \
		echo '$@ is smaller than $(PAD) bytes: the pad is missing;' \
			'check CFLAGS and LDFLAGS' >&2; \
		exit 1; \
	fi
	@echo $(call quote,$(ziaprobe_command)) >.$@.command

.INTERMEDIATE: .pad
.pad:
	@head -c $(PAD) /dev/urandom >$@

# run_ziatest.sh archives build.txt, which records how the programs were built, and changes.diff,
# which records how the sources differ from the commit.
in_git = git ls-files --error-unmatch ziaprobe.c >/dev/null 2>&1
git_diff = git diff --no-color --no-ext-diff --src-prefix=a/ --dst-prefix=b/

recorded = $(filter-out %.md,$(sort $(wildcard *.c probe/* job/* Makefile run_ziatest.sh)))

build.txt: ziatest ziaprobe
	@{ echo "built: $$(date -u +%Y-%m-%dT%H:%M:%SZ)"; \
	echo "commit: $$($(in_git) && git describe --always --dirty || echo UNKNOWN)"; \
	sed 's/^/command: /' .ziatest.command .ziaprobe.command; \
	echo "compiler: $$($(CC) --version | head -n 1)"; \
	echo "MPI compiler: $$($(MPICC) --version | head -n 1)"; \
	echo "MPI compiler's flags: $$($(MPICC) -show 2>&1 | head -n 1)"; \
	for file in ziatest ziaprobe; do echo "size: $$(wc -c <$$file) $$file"; done; \
	sha256sum ziatest ziaprobe $(recorded); } >$@

changes.diff: ziatest ziaprobe
	@if $(in_git); then \
		$(git_diff) --relative HEAD; \
		for file in $$(git ls-files --others --exclude-standard '*.c' probe job); do \
			$(git_diff) --no-index /dev/null $$file || :; \
		done; \
	else \
		echo UNKNOWN; \
	fi >$@

# Runs ziatest on a virtual 4-node Slurm cluster on this machine, with 4 processes per node. To use
# MPICH: make clean run MPICC=mpicc.mpich
run: all
	@tests/run

# The longest tests start first.
long = $(addprefix tests/,job.t path.t faults.t probe.t)
TESTS ?= $(long) $(filter-out $(long),$(wildcard tests/*.t))
check: all
	@tests/versions
	prove -j 4 --failures --comments $(TESTS)

soak: all
	tests/soak $(or $(ROUNDS),100) $(SEED)

# BENCH=full runs the long version.
bench: all
	MPICC='$(MPICC)' CC='$(CC)' tests/bench/run $(BENCH)

install: all
	mkdir -p $(DESTDIR)$(PREFIX)/bin
	cp ziatest ziaprobe $(DESTDIR)$(PREFIX)/bin

clean:
	rm -f ziatest ziaprobe build.txt changes.diff .pad .ziatest.command .ziaprobe.command \
		tests/bench/results.csv

.DELETE_ON_ERROR:
.PHONY: all run check soak bench install clean
