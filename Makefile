# ziatest: build, run, test, install
#
#	make MPICC=cc			another MPI compiler wrapper
#	make CFLAGS=-O3 LDFLAGS=-flto	as usual
#	make check			the tests
#	make bench			what the benchmark itself costs
#	make install PREFIX=~/.local	both programs, into PREFIX/bin

MPICC   = mpicc
CFLAGS  = -O2 -Wall -Wextra -Wpedantic -std=c11
PREFIX  = /usr/local
DESTDIR =

# The specification's 100 MB executable: bytes of pad in ziaprobe, 100 MiB.
PAD = 104857600

ziatest_command = $(CC) $(CPPFLAGS) $(CFLAGS) $(LDFLAGS) -o ziatest ziatest.c $(LDLIBS)
ziaprobe_command = $(MPICC) $(CPPFLAGS) -DPAD=$(PAD) $(CFLAGS) $(LDFLAGS) -o ziaprobe ziaprobe.c $(LDLIBS)

quote = '$(subst ','\'',$(1))'

# Whether the marks around the pad are PAD bytes apart; $$1 is then its offset in ziaprobe.
padded = set -- $$(LC_ALL=C grep -abo 'pad of ziaprobe>' ziaprobe | sed 's/:.*//') 0 0; \
	test $$(($$2 - $$1 - 18)) -eq $(PAD)

all: ziatest ziaprobe build.txt changes.diff

ziatest: ziatest.c
	$(ziatest_command)
	@echo $(call quote,$(ziatest_command)) >.$@.command

ziaprobe: ziaprobe.c
	$(ziaprobe_command)
	@echo $(call quote,$(ziaprobe_command)) >.$@.command
	@$(padded) || $(ziaprobe_command) -DPAD_TYPE=progbits
	@$(padded) && head -c $(PAD) /dev/urandom | \
		dd of=$@ bs=1M seek=$$(($$1 + 16)) oflag=seek_bytes iflag=fullblock conv=notrunc status=none && \
	test $$(wc -c <$@) -ge $(PAD) || { \
		rm -f $@; echo '$@ has no pad of $(PAD) bytes: the linker dropped or moved it' >&2; exit 1; }

# How the programs were built, and how the sources differ from the commit, for run_ziatest.sh to
# hand in
in_git = git ls-files --error-unmatch ziaprobe.c >/dev/null 2>&1
git_diff = git diff --no-color --no-ext-diff --src-prefix=a/ --dst-prefix=b/

build.txt: ziatest ziaprobe
	@{ echo "built: $$(date -u +%Y-%m-%dT%H:%M:%SZ)"; \
	echo "commit: $$($(in_git) && git describe --always --dirty || echo UNKNOWN)"; \
	sed 's/^/command: /' .ziatest.command .ziaprobe.command; \
	echo "compiler: $$($(CC) --version | head -n 1)"; \
	echo "MPI compiler: $$($(MPICC) --version | head -n 1)"; \
	echo "MPI compiler's flags: $$($(MPICC) -show 2>&1 | head -n 1)"; \
	for file in ziatest ziaprobe; do echo "size: $$(wc -c <$$file) $$file"; done; \
	sha256sum ziatest ziaprobe *.c offclock/* Makefile run_ziatest.sh; } >$@

changes.diff: ziatest ziaprobe
	@if $(in_git); then \
		$(git_diff) --relative HEAD; \
		for file in $$(git ls-files --others --exclude-standard '*.c' offclock); do \
			$(git_diff) --no-index /dev/null $$file || :; \
		done; \
	else \
		echo UNKNOWN; \
	fi >$@

# The main job: a 4-node Slurm inside this machine, 4 processes on each node. With MPICH:
# make run MPICC=mpicc.mpich SLURM_MPI_TYPE=pmi2
run: all
	@if tests/cluster 4 true; then \
		tests/cluster 4 ./ziatest 4 "srun --ntasks 16 --ntasks-per-node "; \
	else \
		echo 'no Slurm: one node, under the local mpirun' >&2; \
		OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 \
			./ziatest 2 "mpirun --oversubscribe -npernode"; \
	fi

check: all
	prove -j 2 tests

# What the benchmark itself costs; BENCH=full for the long version
bench: all
	MPICC='$(MPICC)' CC='$(CC)' tests/bench/run $(BENCH)

install: all
	mkdir -p $(DESTDIR)$(PREFIX)/bin
	cp ziatest ziaprobe $(DESTDIR)$(PREFIX)/bin

clean:
	rm -f ziatest ziaprobe build.txt changes.diff .ziatest.command .ziaprobe.command tests/bench/results.csv

.DELETE_ON_ERROR:
.PHONY: all run check bench install clean
