# ziatest: build, run, test, install
#
#	make MPICC=cc			use another MPI compiler wrapper
#	make CFLAGS=-O3 LDFLAGS=-flto	use other compiler and linker flags
#	make plain			build only the two programs of the specification, in plain/
#	make STRICT=1			enable warnings and treat them as errors (gcc, clang)
#	make check			run the tests; TESTS=tests/path.t runs just one
#	make soak ROUNDS=20 SEED=7	run launches with random faults
#	make bench			measure what the benchmark itself costs; BENCH=full: longer
#	make bench FASTER=1		measure what the settings of doc/faster.md change
#	make bench ORIGINAL=DIRECTORY	compare with the ziatest and ziaprobe in DIRECTORY
#	make man			make the manual pages from --help, with help2man
#	make install PREFIX=~/.local	install in bin, lib, libexec/ziatest and share of PREFIX
#	make dist			write ziatest-VERSION.tar.gz, the archive of the last commit
#
# make does not remember these settings. To keep using another MPI, export MPICC.

MPICC  ?= mpicc
CFLAGS ?= -O2 -std=c11
PREFIX  = /usr/local

# The size of the pad in ziaprobe, in bytes. The specification requires a 100 MB executable.
PAD ?= 104857600

# The flags that let ziaprobe see when a rank waits in MPI_Init (observe/fence.c). They export its
# fence functions to the MPI library, and none of its other names. A static build cannot use them.
static = $(filter -static -static-pie,$(MPICC) $(CPPFLAGS) $(CFLAGS) $(LDFLAGS) $(LDLIBS))
FENCE = $(if $(static),,-DINTERPOSE -rdynamic -fvisibility=hidden -ldl)
strict = $(if $(STRICT),-Wall -Wextra -Wpedantic -Werror)
sources = ziaprobe.c $(sort $(wildcard observe/*.c explain/*.c))
headers = $(wildcard observe/*.h explain/*.h)
preparation = $(sort $(wildcard prepare/*.c))
programs = ziatest ziastart libziaprobe.so ziaprobe
ziatest_command = $(CC) $(CPPFLAGS) $(CFLAGS) $(strict) $(LDFLAGS) -o ziatest ziatest.c \
	$(preparation) $(LDLIBS)
ziaprobe_command = $(MPICC) $(CPPFLAGS) -DPAD=$(PAD) -DPAD_FILE=.pad $(CFLAGS) $(strict) \
	$(LDFLAGS) -o ziaprobe $(sources) $(FENCE) $(LDLIBS)
# libziaprobe.so has an mpi.h of its own (preload/mpi.h), so it needs no MPI to build, and measures
# programs of every MPI that it knows. -Bsymbolic-functions makes its tables hold its own functions,
# even if an object that is searched first defines the same names.
libziaprobe.so_command = $(filter-out -static -static-pie,$(CC) -Ipreload $(CPPFLAGS) \
	-DWITHOUT_MAIN -DINTERPOSE $(CFLAGS) $(strict) -fPIC -shared \
	-fvisibility=hidden -Wl,-Bsymbolic-functions $(LDFLAGS)) -o libziaprobe.so \
	$(sort $(wildcard preload/*.c)) $(sources) -ldl
# A static ziastart starts faster, and runs in any container. It is linked dynamically if there is
# no static C library.
starter_sources = preload/starter/ziastart.c \
	$(addprefix observe/,claim.c world.c ancestry.c launchers.c readings.c text.c)
link_ziastart = $(CC) $(CPPFLAGS) $(CFLAGS) $(strict) $(LDFLAGS) -o ziastart $(starter_sources) \
	$(LDLIBS)
ziastart_command = $(link_ziastart) -static 2>/dev/null || $(link_ziastart)

all: $(programs) build.txt changes.diff

# The commands, and the paths of their compilers. If any of them changes, all programs are rebuilt.
compiler = $(shell readlink -f "$$(command -v $(firstword $($(1)_command)))")
quote = '$(subst ','\'',$(1))'
commands = $(foreach program,$(programs),$(call quote,command: $($(program)_command) \
	[$(call compiler,$(program))]))
.commands: $(shell printf '%s\n' $(commands) | cmp -s - .commands || echo FORCE)
	@printf '%s\n' $(commands) >$@

# Deletes the results of an earlier build, so that nobody takes them for those of one that failed.
begin = @rm -f $@ build.txt

ziatest: ziatest.c $(wildcard prepare/*) .commands
	$(begin)
	$(ziatest_command)

.pad plain/.pad: .commands
	@mkdir -p $(@D)
	@head -c $(PAD) /dev/urandom >$@
check_size = @[ $$(wc -c <$@) -ge $(PAD) ] || { echo >&2 \
	'$@ is smaller than $(PAD) bytes: the pad is missing; check CFLAGS and LDFLAGS'; exit 1; }
ziaprobe: .pad $(sources) $(headers) .commands
	$(begin)
	$(ziaprobe_command)
	@rm .pad
	$(check_size)
	@[ -z '$(FENCE)' ] || LC_ALL=C readelf -lW $@ | grep -q INTERP || { echo >&2 \
		'$@ was linked statically, but no flag says so; run make LDFLAGS=-static'; \
		exit 1; }

ziastart: $(starter_sources) $(headers) .commands
	$(begin)
	$(ziastart_command)

libziaprobe.so: $(wildcard preload/*.[ch]) $(sources) $(headers) .commands | ziastart
	$(begin)
	$(libziaprobe.so_command)

# The two programs of the specification, without prepare/, observe/ and explain/
plain: plain/ziatest plain/ziaprobe
plain/ziatest: ziatest.c .commands
	@mkdir -p plain
	$(CC) $(CPPFLAGS) $(CFLAGS) $(strict) $(LDFLAGS) -o $@ ziatest.c $(LDLIBS)
plain/ziaprobe: plain/.pad ziaprobe.c .commands
	$(MPICC) $(CPPFLAGS) -DPAD=$(PAD) -DPAD_FILE=plain/.pad $(CFLAGS) $(strict) $(LDFLAGS) \
		-o $@ ziaprobe.c $(LDLIBS)
	@rm plain/.pad
	$(check_size)

# build.txt records how the programs were built, and changes.diff how the sources differ from the
# commit. run_ziatest.sh archives both. In an archive of make dist, .commit has the commit, because
# .gitattributes lets git archive fill it in. In a clone, it has only the format.
in_git = git ls-files --error-unmatch ziaprobe.c >/dev/null 2>&1
git_diff = git diff --no-color --no-ext-diff --src-prefix=a/ --dst-prefix=b/
tracked = ':(glob)*.c' prepare observe explain preload tools job Makefile run_ziatest.sh
recorded = $(filter-out %.md %/__pycache__ tools/ziatest preload/starter,$(sort \
	$(wildcard *.c prepare/* observe/* explain/* preload/* preload/starter/* tools/* \
	tools/ziatest/*.py job/* Makefile run_ziatest.sh)))
build.txt: $(programs) changes.diff $(recorded)
	@{ echo "built: $$(date -u +%Y-%m-%dT%H:%M:%SZ)"; \
	echo "commit: $$($(in_git) && git describe --always --dirty || \
		grep -v Format .commit 2>/dev/null || echo UNKNOWN)"; \
	cat .commands; \
	echo "compiler: $$($(CC) --version 2>&1 | head -n 1)"; \
	echo "MPI compiler: $$($(MPICC) --version 2>&1 | head -n 1)"; \
	stat -Lc 'size: %s %n' $(programs); \
	sha256sum $(programs) $(recorded); } >$@
changes.diff: $(programs) $(recorded)
	@exec >$@; \
	$(in_git) || { echo UNKNOWN; exit; }; \
	$(git_diff) --relative HEAD -- $(tracked); \
	git ls-files -z --others --exclude-standard $(tracked) | \
		xargs -0 -r -n 1 $(git_diff) --no-index /dev/null || :

# 'make run' measures four virtual nodes. The others are examples of the pages: 'make slow' finds a
# slow node, and 'make own' measures another program.
run slow own: all
	@tests/demos/$@

# The longest tests start first.
long = $(addprefix tests/,job.t summary.t path.t faults.t guest.t build.t probe.t preload.t \
	check.t attach.t clocks.t jump.t)
TESTS ?= $(long) $(filter-out $(long),$(wildcard tests/*.t))
check: all
	@tests/versions
	@BUILDS=$$(mktemp -d) && export BUILDS && trap 'rm -rf "$$BUILDS"' EXIT && \
	prove -j 4 --failures --comments $(TESTS)
soak: all
	tests/demos/soak $(or $(ROUNDS),100) $(SEED)
bench: all
	tests/bench/$(if $(FASTER),faster,run $(BENCH))

# The tools that are commands when they are installed, such as ziatest-check. Each command has a
# manual page, which is made from its --help, and written to MAN. help2man must be installed.
tools = summarize compare check attach
MAN = doc
man: ziatest
	doc/man/generate $(MAN) ziatest=./ziatest \
		$(foreach tool,$(tools),ziatest-$(tool)=tools/$(tool))

# Installs the existing programs without building, because root might use another compiler, and its
# umask might hide new directories from users. Unlike cp, install(1) replaces a running ziaprobe.
into = $(DESTDIR)$(PREFIX)
libexec = $(into)/libexec/ziatest
man1 = $(into)/share/man/man1
pages = README.md LICENSE $(wildcard doc/*.md doc/packages/* tests/*.md tests/bench/*.md) \
	tests/helpers/init.c
install:
	@[ -f build.txt ] || { echo 'there is no complete build; run make first' >&2; exit 1; }
	umask 022 && mkdir -p $(into)/bin $(into)/lib $(libexec)/tools/ziatest $(man1)
	install ziatest ziaprobe $(into)/bin
	install libziaprobe.so ziastart $(into)/lib
	install -m 644 doc/*.1 $(man1)
	echo '.so man1/ziatest.1' >$(man1)/ziaprobe.1 && chmod 644 $(man1)/ziaprobe.1
	umask 022 && for file in $(pages) $$(find example-output -type f); do \
		install -D -m 644 $$file $(into)/share/doc/ziatest/$$file || exit; done
	install $(addprefix tools/,$(tools) collect look) $(libexec)/tools
	install -m 644 tools/ziatest/*.py $(libexec)/tools/ziatest
	for tool in $(tools); do \
		ln -sf ../libexec/ziatest/tools/$$tool $(into)/bin/ziatest-$$tool || exit; done

# Writes the archive of the last commit. What is not committed is left out.
version = $(shell sed -n 's/.*"ziatest \([0-9.]*\)".*/\1/p' prepare/options.c)
dist: samples-are-current
	@git diff --quiet HEAD || { \
		echo >&2 'there are uncommitted changes; commit them first'; exit 1; }
	git archive --prefix=ziatest-$(version)/ -o ziatest-$(version).tar.gz HEAD
# Fails if the sources have changed since example-output/ was made, and names them. The build.txt in
# the archive of a sample has the checksums of the sources then; the programs differ in any build.
samples-are-current:
	@changed=$$({ tar -xzOf example-output/bids/submission.tar.gz --wildcards '*/build.txt' | \
		grep -E '^[0-9a-f]{64}  ' | grep -v $(programs:%=-e '  %$$'); \
		sha256sum $(recorded); } | sort | uniq -u | cut -c 67- | sort -u); \
	[ -z "$$changed" ] || { echo >&2 'example-output was made from other sources;' \
		'run tests/demos/samples and commit; these differ:' $$changed; exit 1; }

clean:
	rm -rf plain $(programs) .commands build.txt changes.diff .pad \
		tests/bench/results.csv tests/bench/faster.csv

.NOTPARALLEL:	# 'make -j clean all' must clean first.
.INTERMEDIATE: .pad plain/.pad
.DELETE_ON_ERROR:
.PHONY: all plain run slow own check soak bench man install dist samples-are-current clean FORCE
