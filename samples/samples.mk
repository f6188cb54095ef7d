# The samples: programs to trace, and to test on. `make samples` builds them all into build/samples.

NVCC ?= $(CUDA_HOME)/bin/nvcc
SAMPLES := $(B)/samples

# PTX for every GPU from Turing on, which the driver compiles when it must, and code for Hopper.
NVCC_FLAGS := -std=c++17 -O2 -g -gencode arch=compute_75,code=compute_75 -gencode arch=compute_90,code=sm_90 \
              -ccbin $(CXX) -Iinclude -Xcompiler -Wall,-Wextra
# RUNPATH, not RPATH: LD_LIBRARY_PATH comes before it, which is how the tests put the simulated GPU in CUDA's place.
SHARED_CUDART := -cudart shared -Xlinker --enable-new-dtags,-rpath,$(CUDA_HOME)/lib64

SAMPLES_CUDA := $(patsubst samples/%.cu,$(SAMPLES)/%,$(sort $(wildcard samples/*.cu)))
SAMPLES_STATIC := $(addprefix $(SAMPLES)/,vector_add_static graphs_static)
SAMPLES_PER_THREAD := $(SAMPLES)/launches_per_thread
SAMPLES_C := $(addprefix $(SAMPLES)/,control driver nvtx no_cuda)
SAMPLES_ALL := $(SAMPLES_CUDA) $(SAMPLES_STATIC) $(SAMPLES_PER_THREAD) $(SAMPLES_C) $(SAMPLES)/train.py

samples: $(SAMPLES_ALL) ## the sample programs, in build/samples

$(SAMPLES_CUDA): $(SAMPLES)/%: samples/%.cu
	$(NVCC) $(NVCC_FLAGS) $(SHARED_CUDART) -o $@ $<

$(SAMPLES_STATIC): $(SAMPLES)/%_static: samples/%.cu
	$(NVCC) $(NVCC_FLAGS) -cudart static -o $@ $<

$(SAMPLES_PER_THREAD): $(SAMPLES)/%_per_thread: samples/%.cu
	$(NVCC) $(NVCC_FLAGS) -default-stream per-thread $(SHARED_CUDART) -o $@ $<

$(SAMPLES_C): $(SAMPLES)/%: samples/%.c
	$(CC) -std=c11 -D_GNU_SOURCE $(CFLAGS) $(WARNINGS) -Iinclude -isystem $(CUDA_HOME)/include -pthread -o $@ $< $(SAMPLE_LIBS) -ldl

$(SAMPLES)/driver: SAMPLE_LIBS := -L$(CUDA_HOME)/lib64/stubs -lcuda

$(SAMPLES)/train.py: samples/train.py
	cp $< $@

$(SAMPLES_ALL): samples/statement.h include/gputrace/gputrace.h samples/samples.mk | toolkit $(SAMPLES)/.exists
$(SAMPLES)/.exists:
	@mkdir -p $(@D)
	@touch $@

include tests/tools/tools.mk

.PHONY: samples
