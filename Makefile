# gputrace: `make help` lists what can be made.

VERSION := 0.1.0
PREFIX ?= /usr/local
CUDA_HOME ?= /usr/local/cuda
SAN ?=

comma := ,
B := build$(if $(SAN),/$(subst $(comma),-,$(SAN)))

ifeq ($(origin CC),default)
CC := gcc
endif
WARNINGS := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wconversion -Werror
SANITIZE := $(if $(SAN),-fsanitize=$(SAN) -fno-omit-frame-pointer)
CFLAGS ?= -O2 -g
ALL_CFLAGS := -std=c11 -D_GNU_SOURCE -DGPUTRACE_VERSION='"$(VERSION)"' $(CFLAGS) $(WARNINGS) $(SANITIZE) \
              -fPIC -fvisibility=hidden -pthread
CUDA_INCLUDES := -isystem $(CUDA_HOME)/include -isystem $(CUDA_HOME)/extras/CUPTI/include
INCLUDES := -Isrc -Iinclude $(CUDA_INCLUDES)

sources = $(sort $(wildcard $(addsuffix /*.c,$(1))))
objects = $(patsubst %.c,$(B)/obj/%.o,$(1))

BASE_SRC := $(call sources,src/base src/wire)
LIB_SRC := $(call sources,$(wildcard src/injected/*))
TOOL_SRC := $(call sources,$(wildcard src/tool/*))
BASE_OBJ := $(call objects,$(BASE_SRC))
LIB_OBJ := $(call objects,$(LIB_SRC))
TOOL_OBJ := $(call objects,$(TOOL_SRC))
MAIN_OBJ := $(B)/obj/src/tool/cli/main.o
TOOL_LIBS := -ldw -lelf -lcjson -lz -llz4 -lstdc++ -lm

.DEFAULT_GOAL := all
.DELETE_ON_ERROR:
.SUFFIXES:

all: $(B)/gputrace $(B)/libgputrace.so plugins ## build/gputrace, build/libgputrace.so and plugins, which run from there

include samples/samples.mk tests/simgpu/simgpu.mk src/wire/cbid.mk tests/tests.mk tests/fuzz/fuzz.mk

$(B)/gputrace: $(TOOL_OBJ) $(BASE_OBJ)
	$(CC) $(SANITIZE) -pthread -o $@ $^ $(TOOL_LIBS)

$(B)/libgputrace.so: $(LIB_OBJ) $(BASE_OBJ) src/injected/entry/exports.map
	$(CC) $(SANITIZE) -pthread -shared -Wl,-soname,libgputrace.so -Wl,--version-script=src/injected/entry/exports.map \
	    -Wl,-z,nodelete -o $@ $(LIB_OBJ) $(BASE_OBJ) -ldl

$(B)/obj/%.o: %.c Makefile | toolkit
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) $(INCLUDES) -MMD -MP -c -o $@ $<

# What exceptions of C++ pass through on their way to the program.
$(addprefix $(B)/obj/src/injected/,allocator/refusal.o entry/allocator_doors.o): ALL_CFLAGS += -fexceptions

-include $(patsubst %.o,%.d,$(BASE_OBJ) $(LIB_OBJ) $(TOOL_OBJ))

toolkit:
	@test -e $(CUDA_HOME)/include/cuda.h || { \
	    echo "no CUDA toolkit in CUDA_HOME=$(CUDA_HOME): install it from https://developer.nvidia.com/cuda-downloads" \
	         "(or your distribution's nvidia-cuda-toolkit), or say where it is: make CUDA_HOME=/path/to/cuda" >&2; exit 1; }

setup: build/.setup ## installs what building and testing need, with apt-get
build/.setup: .ci/setup
	@.ci/setup $@

# What is called from here builds with all processors, unless -j says otherwise.
SUBMAKE = $(MAKE) --no-print-directory $(if $(filter -j% --jobserver%,$(MAKEFLAGS)),,-j$(shell nproc))

demo: setup ## traces a sample, prints its report, says how to look at it
	@+$(SUBMAKE) all samples simgpu
	@samples/demo $(B)

test: setup ## builds and tests everything; SAN=address,undefined or SAN=thread with sanitizers
	@+$(SUBMAKE) all samples simgpu tests check_trace fuzzers
	@tests/run -b $(B)

check-samples: setup ## traces every sample, on the GPU where there is one, and compares with what it did
	@+$(SUBMAKE) all samples simgpu check_trace
	@tests/run -b $(B) tests/samples/

bench: setup ## measures: time to convert, and on a GPU what tracing costs the program
	@+$(SUBMAKE) all samples simgpu tests
	@tests/bench/run $(B)

bench-kill: setup ## kills a program of eight threads at KILLS (1000) random moments: every trace must be whole
	@+$(SUBMAKE) all simgpu check_trace $(B)/tests/robust/programs/crowd
	@KILLS=$${KILLS:-1000} tests/bench/kills $(B)

lint: all ## layers, headers, exported symbols, what the library may not call, format, scripts
	@tests/lint/run $(B)

FORMATTED = $(shell find src include tests samples -name '*.[ch]' -o -name '*.cu')
fmt: ## formats the sources with clang-format
	clang-format -i $(FORMATTED)

# What is installed: MODE SOURCE PLACE.
MAN := $(sort $(wildcard man/*.[1-8]))
HEADERS := $(sort $(wildcard include/gputrace/*.h))
INSTALLED = 755:$(B)/gputrace:bin/gputrace 755:$(B)/libgputrace.so:lib/libgputrace.so \
    $(foreach plugin,$(filter-out %/empty.so,$(PLUGINS)),755:$(plugin):lib/gputrace/$(notdir $(plugin))) \
    $(foreach header,$(HEADERS),644:$(header):$(header)) \
    $(foreach page,$(MAN),644:$(page):share/man/man$(subst .,,$(suffix $(page)))/$(notdir $(page))) \
    644:src/tool/cli/completion.bash:share/bash-completion/completions/gputrace \
    644:src/tool/cli/completion.zsh:share/zsh/site-functions/_gputrace
part = $(word $(2),$(subst :, ,$(1)))

install: all ## into PREFIX (/usr/local), below DESTDIR
	$(foreach file,$(INSTALLED),install -D -m $(call part,$(file),1) $(call part,$(file),2) \
	    '$(DESTDIR)$(PREFIX)/$(call part,$(file),3)' &&) true

uninstall: ## removes what install put there
	$(foreach file,$(INSTALLED),rm -f '$(DESTDIR)$(PREFIX)/$(call part,$(file),3)' &&) true

clean: ## removes what was built
	rm -rf build

help: ## this list
	@grep -hE '^[a-z-]+:.*##' Makefile samples/samples.mk tests/simgpu/simgpu.mk tests/tests.mk tests/fuzz/fuzz.mk | sed -E 's/:.*## /\t/' | sort | \
	    awk -F '\t' '{ printf "  make %-14s %s\n", $$1, $$2 }'

.PHONY: all toolkit setup demo test check-samples bench bench-kill lint fmt install uninstall clean help
