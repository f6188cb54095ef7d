# gputrace: `make help` lists what can be made.

VERSION := 0.1.0
CUDA_HOME ?= /usr/local/cuda
SAN ?=
# WERROR=1 makes warnings errors: for our own builds (.ci/run), not for other compilers than we have tried.
WERROR ?=

# Where `make install` puts things, below DESTDIR.
PREFIX ?= /usr/local
BINDIR ?= $(PREFIX)/bin
LIBDIR ?= $(PREFIX)/lib
INCLUDEDIR ?= $(PREFIX)/include
DATADIR ?= $(PREFIX)/share
MANDIR ?= $(DATADIR)/man
PKGCONFIGDIR ?= $(LIBDIR)/pkgconfig

# CROSS=aarch64-linux-gnu builds for another processor with that toolchain, into build/aarch64-linux-gnu. SYSROOT is a
# folder with its headers and libraries, unless they lie in / (multiarch packages of Debian).
CROSS ?=
SYSROOT ?=

comma := ,
B := build$(CROSS:%=/%)$(if $(SAN),/$(subst $(comma),-,$(SAN)))

tool = $(CROSS:%=%-)$(1)
ifeq ($(origin CC),default)
CC := $(call tool,gcc)
endif
ifeq ($(origin CXX),default)
CXX := $(call tool,g++)
endif
ifeq ($(origin AR),default)
AR := $(call tool,ar)
endif
override CC += $(SYSROOT:%=--sysroot=%)
override CXX += $(SYSROOT:%=--sysroot=%)
CFLAGS ?= -O2 -g
WERROR_FLAG := $(if $(WERROR),-Werror)
WARNINGS := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wconversion $(WERROR_FLAG)
SANITIZE := $(if $(SAN),-fsanitize=$(SAN) -fno-omit-frame-pointer)
# Checked calls of libc need optimisation, get in the sanitizers' way, and may be chosen by the packager.
optimised := $(filter-out -O0,$(filter -O%,$(CFLAGS)))
fortified := $(findstring _FORTIFY_SOURCE,$(CPPFLAGS) $(CFLAGS))
FORTIFY := $(if $(SAN),,$(if $(optimised),$(if $(fortified),,-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2)))
# The way from BINDIR to LIBDIR, so that an installation can be moved as a whole.
LIBDIR_FROM_BINDIR := $(shell realpath -ms --relative-to='$(BINDIR)' '$(LIBDIR)')
DEFINES := -D_GNU_SOURCE -DGPUTRACE_VERSION='"$(VERSION)"' -DGPUTRACE_LIBDIR='"$(LIBDIR_FROM_BINDIR)"'
# Compilers for other processors would take `char` as unsigned.
ALL_CFLAGS = -std=c11 -fsigned-char $(DEFINES) $(FORTIFY) $(CPPFLAGS) $(CFLAGS) $(WARNINGS) $(SANITIZE) \
              -fPIC -fno-plt -fvisibility=hidden -ffunction-sections -fdata-sections -pthread
LINK_FLAGS := -Wl,-z,relro -Wl,-z,now -Wl,--gc-sections $(LDFLAGS)
# NVTX_HOME is for toolkits whose NVTX lacks payloads and counters: a newer NVTX, which consists of headers.
NVTX_HOME ?=
CUDA_INCLUDES := $(addprefix -isystem ,$(NVTX_HOME:=/include) $(CUDA_HOME)/include $(CUDA_HOME)/extras/CUPTI/include)
# A toolkit has libraries for its own processor: for another one, those of the simulated GPU have their names.
CUDA_LIBS := $(if $(CROSS),$(B)/simgpu,$(CUDA_HOME)/lib64)
CUDA_STUBS := $(if $(CROSS),$(B)/simgpu,$(CUDA_HOME)/lib64/stubs)
# The tool's libraries. Those of WITHOUT are missing, NAME:FEATURE: headers of the folder `without` stand for theirs.
TOOL_LIBRARIES := $(shell PKG_CONFIG=$(call tool,pkg-config) src/packaging/libraries $(CC) $(CPPFLAGS) $(CFLAGS))
WITHOUT := $(filter-out -%,$(TOOL_LIBRARIES))
INCLUDES := -Isrc -Iinclude $(CUDA_INCLUDES) $(patsubst -I%,-isystem %,$(filter -I%,$(TOOL_LIBRARIES))) \
    $(foreach library,$(WITHOUT),-isystem src/packaging/without/$(firstword $(subst :, ,$(library))))

# Begins the command of a recipe: $(call say,CC,FILE) prints one short line in the command's place, `V=1` the command
# itself, `make -s` neither.
silent := $(findstring s,$(firstword -$(MAKEFLAGS)))
say = $(if $(V),,@$(if $(silent),,printf '  %s %s\n' '$(1)' '$(2)';) )

sources = $(sort $(wildcard $(addsuffix /*.c,$(1))))
objects = $(patsubst %.c,$(B)/obj/%.o,$(1))

COMMON_SRC := $(call sources,src/common)$(if $(PORTABLE), src/packaging/glibc.c)
AGENT_SRC := $(call sources,$(wildcard src/agent/*))
ALLOCATOR_SRC := $(call sources,src/allocator)
MPI_SRC := $(call sources,src/mpi)
TORCH_SRC := $(call sources,src/preload)
TOOL_SRC := $(call sources,$(addprefix src/,trace trace/gzip trace/json trace/pftrace trace/sqlite trace/spool trace/merge \
    trace/meaning launch perf symbols cli) src/analysis $(wildcard src/trace/meaning/* src/analysis/*))
COMMON_OBJ := $(call objects,$(COMMON_SRC))
AGENT_OBJ := $(call objects,$(AGENT_SRC))
ALLOCATOR_OBJ := $(call objects,$(ALLOCATOR_SRC))
MPI_OBJ := $(call objects,$(MPI_SRC))
TORCH_OBJ := $(call objects,$(TORCH_SRC))
TOOL_OBJ := $(call objects,$(TOOL_SRC))
MAIN_OBJ := $(B)/obj/src/cli/main.o
TOOL_LIBS = $(or $(PORTABLE_LIBS),$(filter -L% -l%,$(TOOL_LIBRARIES))) -lm

.DEFAULT_GOAL := all
.DELETE_ON_ERROR:
.SUFFIXES:

# A library's file is named as programs that are linked with it ask for it. The number changes when they would break.
SONAME := libgputrace.so.0
ALLOCATOR_SONAME := libgputrace-allocator.so.0
MPI_SONAME := libgputrace-mpi.so.0
TORCH_SONAME := libgputrace-torch.so.0

all: $(B)/gputrace $(B)/libgputrace.so $(B)/libgputrace-allocator.so $(B)/libgputrace-mpi.so $(B)/libgputrace-torch.so $(B)/libgputrace-preload plugins ## build/gputrace, its libraries and plugins, which run from there

# Tables made from NVIDIA's headers: names of API calls by CUPTI's callback ids (`[211] = "cudaLaunchKernel",`) for
# trace/spool/cupti.c, their classes (`[165] = API_QUERY,`) for common/cupti.c, and names of errors by number
# (`case 2: return "cudaErrorMemoryAllocation";`) for trace/spool/cupti.c.
# CUPTI's headers lie beside CUDA's (packages, wheels) or below extras (the toolkit's installer).

CUPTI_INCLUDE := $(firstword $(dir $(wildcard $(CUDA_HOME)/extras/CUPTI/include/cupti.h $(CUDA_HOME)/include/cupti.h)))
GEN := $(B)/obj/gen
NEWER_CALLS := src/common/newer_calls.list
define CBID_RULE
$(GEN)/common/$(1)_cbid.inc: $$(wildcard $(CUPTI_INCLUDE)cupti_$(1)_cbid.h) src/common/cbid.awk $(NEWER_CALLS) | toolkit
	@mkdir -p $$(@D)
	$$(call say,GEN,$$@)awk -f src/common/cbid.awk $(CUPTI_INCLUDE)cupti_$(1)_cbid.h $(NEWER_CALLS) >$$@

$(GEN)/common/$(1)_classes.inc: $$(wildcard $(CUPTI_INCLUDE)cupti_$(1)_cbid.h) src/common/cbid.awk src/common/api_classes.list $(NEWER_CALLS) | toolkit
	@mkdir -p $$(@D)
	$$(call say,GEN,$$@)awk -f src/common/cbid.awk src/common/api_classes.list $(CUPTI_INCLUDE)cupti_$(1)_cbid.h $(NEWER_CALLS) >$$@

$(GEN)/trace/spool/$(1)_errors.inc: $$(wildcard $(CUDA_HOME)/include/$(2)) src/common/cbid.awk | toolkit
	@mkdir -p $$(@D)
	$$(call say,GEN,$$@)awk -f src/common/cbid.awk $(CUDA_HOME)/include/$(2) >$$@
endef
$(eval $(call CBID_RULE,runtime,driver_types.h))
$(eval $(call CBID_RULE,driver,cuda.h))

GEN_OBJ := src/trace/spool/cupti.o src/common/cupti.o
GEN_TABLES := $(foreach api,runtime driver,$(addprefix $(GEN)/,common/$(api)_cbid.inc common/$(api)_classes.inc \
    trace/spool/$(api)_errors.inc))
$(addprefix $(B)/obj/,$(GEN_OBJ)): $(GEN_TABLES)
$(addprefix $(B)/obj/,$(GEN_OBJ)): INCLUDES += -I$(GEN)

include src/packaging/packaging.mk tests/simgpu/simgpu.mk samples/samples.mk tests/tests.mk tests/fuzz/fuzz.mk

$(B)/gputrace: $(TOOL_OBJ) $(COMMON_OBJ)
	$(call say,LD,$@)$(CC) $(SANITIZE) -pthread $(LINK_FLAGS) -o $@ $^ $(TOOL_LIBS)$(if $(WITHOUT), && \
	    printf 'built without %s\n' $(foreach library,$(WITHOUT),'$(subst -, ,$(subst :,: no ,$(library)))'))

$(B)/$(SONAME): $(AGENT_OBJ) $(COMMON_OBJ) src/exports.map
	$(call say,LD,$@)$(CC) $(SANITIZE) -pthread -shared $(LINK_FLAGS) -Wl,-soname,$(SONAME) \
	    -Wl,--version-script=src/exports.map -Wl,-z,nodelete -o $@ $(AGENT_OBJ) $(COMMON_OBJ) -ldl

$(B)/$(ALLOCATOR_SONAME): $(ALLOCATOR_OBJ) $(COMMON_OBJ) src/exports.map
	$(call say,LD,$@)$(CC) $(SANITIZE) -pthread -shared $(LINK_FLAGS) -Wl,-soname,$(ALLOCATOR_SONAME) \
	    -Wl,--version-script=src/exports.map -Wl,-z,nodelete -o $@ $(ALLOCATOR_OBJ) $(COMMON_OBJ) -ldl

# It exports what calls.c makes of the rows of functions.h, without a version, as MPI has none.
$(B)/$(MPI_SONAME): $(MPI_OBJ) $(COMMON_OBJ)
	$(call say,LD,$@)$(CC) $(SANITIZE) -pthread -shared $(LINK_FLAGS) -Wl,-soname,$(MPI_SONAME) \
	    -Wl,-z,nodelete -o $@ $(MPI_OBJ) $(COMMON_OBJ) -ldl

# In programs that are not sanitized, too. It exports nothing: it has a constructor.
$(B)/$(TORCH_SONAME): $(TORCH_OBJ)
	$(call say,LD,$@)$(CC) -shared $(LINK_FLAGS) -Wl,-soname,$(TORCH_SONAME) -Wl,-z,nodelete -o $@ $(TORCH_OBJ)

$(TORCH_OBJ): SANITIZE :=

$(B)/libgputrace.so $(B)/libgputrace-allocator.so $(B)/libgputrace-mpi.so $(B)/libgputrace-torch.so: %.so: %.so.0
	$(call say,LN,$@)ln -sf $(<F) $@

# What is preloaded, by the dynamic loader's names for the folder of libraries ($LIB): in programs of 64 bits that is the
# library, in those of 32 bits their C library.
PRELOAD_32 := lib32 lib lib/i386-linux-gnu
define link-preload
mkdir -p '$(1)/lib' && ln -sfn .. '$(1)/lib64' && \
    ln -sfn ../.. '$(1)/lib/x86_64-linux-gnu' && ln -sfn ../.. '$(1)/lib/aarch64-linux-gnu' && \
    $(foreach folder,$(PRELOAD_32),mkdir -p '$(1)/$(folder)' && \
    $(foreach library,$(MPI_SONAME) $(TORCH_SONAME),ln -sf /$(folder)/libc.so.6 '$(1)/$(folder)/$(library)' &&)) :
endef
$(B)/libgputrace-preload: Makefile
	$(call say,LN,$@)$(call link-preload,$@) && touch $@

$(B)/obj/%.o: %.c Makefile | toolkit
	@mkdir -p $(@D)
	$(call say,CC,$<)$(CC) $(ALL_CFLAGS) $(INCLUDES) -MMD -MP -c -o $@ $<$(portable_object)

# NVTX's types and numbers alone: without this its headers put the whole of its client into every object.
$(AGENT_OBJ): DEFINES += -DNVTX_NO_IMPL

# The page of `report --html` is part of this object.
$(B)/obj/src/analysis/render/render_html.o: $(wildcard src/analysis/render/html/*)

# Another LIBDIR, commit or set of libraries asks for another gputrace.
$(call objects,src/launch/program.c src/cli/doctor.c): $(B)/obj/libdir
$(call objects,src/trace/names.c src/trace/sqlite/database.c $(wildcard src/trace/spool/*.c)): $(B)/obj/without
$(MAIN_OBJ): $(B)/obj/version
$(MAIN_OBJ): DEFINES += -DGPUTRACE_PACKAGE_VERSION='"$(PACKAGE_VERSION)"'
$(B)/obj/libdir: IDENTITY = $(LIBDIR_FROM_BINDIR)
$(B)/obj/without: IDENTITY = $(WITHOUT)
$(B)/obj/version: IDENTITY = $(PACKAGE_VERSION)
$(B)/obj/libdir $(B)/obj/without $(B)/obj/version: always
	@mkdir -p $(@D)
	@echo '$(IDENTITY)' | cmp -s - $@ || echo '$(IDENTITY)' >$@

# Functions of one table have the same parameters, and few use them all.
$(filter $(B)/obj/src/analysis/%,$(TOOL_OBJ)): ALL_CFLAGS += -Wno-unused-parameter

# What exceptions of C++ pass through on their way to the program.
$(patsubst %,$(B)/obj/src/%.o,allocator/malloc agent/torch/inputs agent/torch/operators): ALL_CFLAGS += -fexceptions

-include $(patsubst %.o,%.d,$(COMMON_OBJ) $(AGENT_OBJ) $(ALLOCATOR_OBJ) $(MPI_OBJ) $(TORCH_OBJ) $(TOOL_OBJ))

toolkit:
	@test -e $(CUDA_HOME)/include/cuda.h || { \
	    echo "no CUDA toolkit in CUDA_HOME=$(CUDA_HOME): install it from https://developer.nvidia.com/cuda-downloads" \
	         "(CUDA 12 or 13), or say where it is: make CUDA_HOME=/path/to/cuda" >&2; exit 1; }
	@test -e $(or $(NVTX_HOME),$(CUDA_HOME))/include/nvtx3/nvToolsExtSemanticsTime.h || { \
	    echo "NVTX in $(or $(NVTX_HOME),$(CUDA_HOME))/include is too old: clone https://github.com/NVIDIA/NVTX" \
	         "(3.3 or newer), and say where it is: make NVTX_HOME=/path/to/NVTX/c" >&2; exit 1; }

# `make setup` and `make demo` alone install; other targets say what is missing.
setup: build/.setup ## installs what building and testing need, with apt-get
build/.setup: .ci/setup
	@.ci/setup$(if $(filter setup,$(MAKECMDGOALS)),, --check) $@
build/.setup-build: .ci/setup
	@.ci/setup --build $@

# What is called from here builds with all processors, unless -j says otherwise.
SUBMAKE = $(MAKE) --no-print-directory $(if $(filter -j% --jobserver%,$(MAKEFLAGS)),,-j$(shell nproc))

demo: build/.setup-build ## shows a program with a fault, its finding, and what the repaired program gains
	@echo 'building ...'
	@+$(SUBMAKE) -s all samples simgpu
	@samples/demo $(B)

test: build/.setup ## builds and tests, before a commit; SAN=address,undefined or SAN=thread with sanitizers
	@+$(SUBMAKE) all samples simgpu tests check_trace
	@tests/run -b $(B)

# What takes hours in all, by the parts that tests/all names: PARTS="tests kills".
test-all: build/.setup ## also tests that take minutes or start daemons, sanitizers, kills, a soak, fuzzers, aarch64; PARTS= some
	@+$(SUBMAKE) all samples simgpu tests check_trace fuzzers
	@tests/all -b $(B) $(PARTS)

check-samples: build/.setup ## traces every sample, on the GPU where there is one, and compares with what it did
	@+$(SUBMAKE) all samples simgpu check_trace
	@tests/run -b $(B) tests/samples/

bench: build/.setup ## measures: time to convert, and on a GPU what tracing costs the program
	@+$(SUBMAKE) all samples simgpu tests
	@tests/bench/run $(B)

bench-kill: build/.setup ## kills a program of eight threads at KILLS (1000) random moments: every trace must be whole
	@+$(SUBMAKE) all simgpu check_trace $(B)/tests/robust/programs/crowd
	@KILLS=$${KILLS:-1000} tests/bench/kills $(B)

lint: all ## layers, headers, exported symbols, what the libraries may not call, format, scripts
	@tests/lint/run $(B)

FORMATTED = $(shell find src include tests samples -name '*.[ch]' -o -name '*.cu')
fmt: ## formats the sources with clang-format 19, which Debian 12 and 13 and Ubuntu 24.04 have
	command=$$(tests/lint/check-format --command) && $$command -i $(FORMATTED)

compile-commands: ## writes build/compile_commands.json, which clangd and other tools read
	@mkdir -p $(B) && $(MAKE) --no-print-directory -nB V=1 all | jq -Rn --arg directory '$(CURDIR)' \
	    '[inputs | select(test(" -c .*[.]c$$|[.]c( |$$)")) | {$$directory, command: ., file: (capture("(?<f>[^ ]+[.]c)( |$$)").f)}]' \
	    >$(B)/compile_commands.json

tags: ## writes build/tags, for editors
	@mkdir -p $(B) && ctags -R -f $(B)/tags src include

# What is installed: MODE:SOURCE:DIRECTORY:NAME, the directory by the name of its variable.
MAN := $(sort $(wildcard man/*.[1-8]))
HEADERS := $(sort $(wildcard include/gputrace/*.h))
LIBRARIES := libgputrace libgputrace-allocator libgputrace-mpi libgputrace-torch
INSTALLED = 755:$(B)/gputrace:BINDIR:gputrace 644:$(B)/gputrace.pc:PKGCONFIGDIR:gputrace.pc \
    $(foreach library,$(LIBRARIES),755:$(B)/$(library).so.0:LIBDIR:$(library).so.$(VERSION)) \
    $(foreach plugin,$(filter-out %/empty.so,$(PLUGINS)),755:$(plugin):LIBDIR:gputrace/$(notdir $(plugin))) \
    $(foreach header,$(HEADERS),644:$(header):INCLUDEDIR:$(header:include/%=%)) \
    $(foreach page,$(MAN),644:$(page):MANDIR:man$(subst .,,$(suffix $(page)))/$(notdir $(page))) \
    644:src/cli/completion.bash:DATADIR:bash-completion/completions/gputrace \
    644:src/cli/completion.zsh:DATADIR:zsh/site-functions/_gputrace \
    644:src/cli/completion.fish:DATADIR:fish/vendor_completions.d/gputrace.fish
part = $(word $(2),$(subst :, ,$(1)))
place = $(DESTDIR)$($(call part,$(1),3))/$(call part,$(1),4)

install: all $(B)/gputrace.pc ## into PREFIX (/usr/local), below DESTDIR; also BINDIR, LIBDIR, INCLUDEDIR, DATADIR, MANDIR
	$(call say,INSTALL,$(DESTDIR)$(PREFIX))$(foreach file,$(INSTALLED), \
	    install -D -m $(call part,$(file),1) $(call part,$(file),2) '$(call place,$(file))' &&) \
	    $(foreach library,$(LIBRARIES),ln -sf $(library).so.$(VERSION) '$(DESTDIR)$(LIBDIR)/$(library).so.0' && \
	    ln -sf $(library).so.0 '$(DESTDIR)$(LIBDIR)/$(library).so' &&) \
    $(call link-preload,$(DESTDIR)$(LIBDIR)/libgputrace-preload)

uninstall: ## removes what install put there
	$(call say,RM,$(DESTDIR)$(PREFIX))rm -f $(foreach file,$(INSTALLED),'$(call place,$(file))') \
	    $(foreach library,$(LIBRARIES),'$(DESTDIR)$(LIBDIR)/$(library).so.0' '$(DESTDIR)$(LIBDIR)/$(library).so')
	$(call say,RM,$(DESTDIR)$(LIBDIR)/libgputrace-preload)rm -rf '$(DESTDIR)$(LIBDIR)/libgputrace-preload'

$(B)/gputrace.pc: src/gputrace.pc.in always
	@sed 's|@prefix@|$(PREFIX)|; s|@libdir@|$(LIBDIR)|; s|@includedir@|$(INCLUDEDIR)|; s|@version@|$(VERSION)|' $< >$@

clean: ## removes what was built
	rm -rf build

help: ## this list
	@grep -hE '^[a-z-]+:.*##' Makefile samples/samples.mk tests/simgpu/simgpu.mk tests/tests.mk tests/fuzz/fuzz.mk | sed -E 's/:.*## /\t/' | sort | \
	    awk -F '\t' '{ printf "  make %-14s %s\n", $$1, $$2 }'
	@echo "with V=1 whole commands are printed, with WERROR=1 compiler warnings are errors, with CROSS=aarch64-linux-gnu"
	@echo "and SYSROOT=/its/libraries another processor's programs are built, into build/aarch64-linux-gnu"

.PHONY: all always toolkit compile-commands tags setup demo test test-all check-samples bench bench-kill lint fmt install uninstall clean help
