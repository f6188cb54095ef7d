# gputrace: `make help` lists what can be made.

VERSION := 0.1.0
PREFIX ?= /usr/local
CUDA_HOME ?= /usr/local/cuda
SAN ?=

comma := ,
B := build$(if $(SAN),/$(subst $(comma),-,$(SAN)))

CC ?= gcc
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
TOOL_LIBS := -lcjson -lz -lstdc++ -lm

.DEFAULT_GOAL := all
.DELETE_ON_ERROR:
.SUFFIXES:

all: $(B)/gputrace $(B)/libgputrace.so ## build/gputrace and build/libgputrace.so, which run from there

include samples/samples.mk tests/simgpu/simgpu.mk tests/tests.mk

$(B)/gputrace: $(TOOL_OBJ) $(BASE_OBJ)
	$(CC) $(SANITIZE) -pthread -o $@ $^ $(TOOL_LIBS)

$(B)/libgputrace.so: $(LIB_OBJ) $(BASE_OBJ) src/injected/entry/exports.map
	$(CC) $(SANITIZE) -pthread -shared -Wl,-soname,libgputrace.so -Wl,--version-script=src/injected/entry/exports.map \
	    -Wl,-z,nodelete -o $@ $(LIB_OBJ) $(BASE_OBJ) -ldl

$(B)/obj/%.o: %.c Makefile | toolkit
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) $(INCLUDES) -MMD -MP -c -o $@ $<

-include $(patsubst %.o,%.d,$(BASE_OBJ) $(LIB_OBJ) $(TOOL_OBJ))

toolkit:
	@test -e $(CUDA_HOME)/include/cuda.h || { \
	    echo "no CUDA toolkit in CUDA_HOME=$(CUDA_HOME): install it from https://developer.nvidia.com/cuda-downloads" \
	         "(or your distribution's nvidia-cuda-toolkit), or say where it is: make CUDA_HOME=/path/to/cuda" >&2; exit 1; }

clean: ## removes what was built
	rm -rf build

help: ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | sort | \
	    awk -F '\t' '{ printf "  make %-12s %s\n", $$1, $$2 }'

.PHONY: all toolkit clean help
