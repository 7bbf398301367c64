# ziatest: build, run, test, install
#
#	make MPICC=cc			another MPI compiler wrapper
#	make CFLAGS=-O3 LDFLAGS=-flto	as usual
#	make check			the tests
#	make install PREFIX=~/.local	both programs, into PREFIX/bin

MPICC   = mpicc
CFLAGS  = -O2 -Wall -Wextra -Wpedantic -std=c11
PREFIX  = /usr/local
DESTDIR =

# The specification's 100 MB executable: bytes of pad in ziaprobe, 100 MiB.
PAD = 104857600

ziatest_command = $(CC) $(CPPFLAGS) $(CFLAGS) $(LDFLAGS) -o ziatest ziatest.c $(LDLIBS)
ziaprobe_command = $(MPICC) $(CPPFLAGS) -DPAD='"ziaprobe.pad"' $(CFLAGS) $(LDFLAGS) \
	-o ziaprobe ziaprobe.c $(LDLIBS)

all: ziatest ziaprobe build.txt

ziatest: ziatest.c
	$(ziatest_command)

ziaprobe: ziaprobe.c
	head -c $(PAD) /dev/urandom >$@.pad
	$(ziaprobe_command); status=$$?; rm -f $@.pad; exit $$status
	@test $$(wc -c <$@) -ge $(PAD) || { \
		rm -f $@; echo '$@ is smaller than $(PAD) bytes: the linker dropped the pad' >&2; exit 1; }

# How the programs were built, for run_ziatest.sh to hand in
quote = '$(subst ','\'',$(1))'
build.txt: ziatest ziaprobe
	@{ echo "built: $$(date -u +%Y-%m-%dT%H:%M:%SZ)"; \
	echo "commit: $$(git rev-parse HEAD 2>/dev/null || echo 'none, built outside git')"; \
	printf 'command: %s\n' $(call quote,$(ziatest_command)) $(call quote,$(ziaprobe_command)); \
	echo "compiler: $$($(CC) --version | head -n 1)"; \
	echo "MPI compiler: $$($(MPICC) --version | head -n 1)"; \
	echo "MPI compiler's flags: $$($(MPICC) -show 2>&1 | head -n 1)"; \
	for file in ziatest ziaprobe; do echo "size: $$(wc -c <$$file) $$file"; done; \
	sha256sum ziatest ziaprobe ziatest.c ziaprobe.c Makefile; } >$@

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
	prove tests

install: all
	mkdir -p $(DESTDIR)$(PREFIX)/bin
	cp ziatest ziaprobe $(DESTDIR)$(PREFIX)/bin

clean:
	rm -f ziatest ziaprobe ziaprobe.pad build.txt

.DELETE_ON_ERROR:
.PHONY: all run check install clean
