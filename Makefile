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

all: ziatest ziaprobe

ziatest: ziatest.c
	$(CC) $(CPPFLAGS) $(CFLAGS) $(LDFLAGS) -o $@ ziatest.c $(LDLIBS)

ziaprobe: ziaprobe.c
	head -c $(PAD) /dev/urandom >$@.pad
	$(MPICC) $(CPPFLAGS) -DPAD='"$@.pad"' $(CFLAGS) $(LDFLAGS) -o $@ ziaprobe.c $(LDLIBS); \
		status=$$?; rm -f $@.pad; exit $$status
	@test $$(wc -c <$@) -ge $(PAD) || { \
		rm -f $@; echo '$@ is smaller than $(PAD) bytes: the linker dropped the pad' >&2; exit 1; }

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
	rm -f ziatest ziaprobe ziaprobe.pad

.DELETE_ON_ERROR:
.PHONY: all run check install clean
