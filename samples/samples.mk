# The samples: programs to trace, and to test on. `make samples` builds them all into build/samples.

NVCC ?= $(CUDA_HOME)/bin/nvcc
SAMPLES := $(B)/samples

# PTX for every GPU from Turing on, which the driver compiles when it must, and code for Hopper.
NVCC_FLAGS := -std=c++17 -O2 -g -gencode arch=compute_75,code=compute_75 -gencode arch=compute_90,code=sm_90 \
              -ccbin $(firstword $(CXX)) -Iinclude -Xcompiler -Wall,-Wextra
# For another processor, nvcc looks for all of the toolkit below targets.
NVCC_FLAGS += $(if $(CROSS),$(SYSROOT:%=-Xcompiler --sysroot=%) -I$(CUDA_HOME)/include -I$(CUDA_HOME)/include/cccl \
              -L$(CUDA_LIBS) -cudadevrt none)
# RUNPATH, not RPATH: LD_LIBRARY_PATH comes before it, which is how the tests put the simulated GPU in CUDA's place.
SHARED_CUDART := -cudart shared -Xlinker --enable-new-dtags,-rpath,$(CUDA_HOME)/lib64

SAMPLES_CUDA := $(patsubst samples/%.cu,$(SAMPLES)/%,$(sort $(wildcard samples/*.cu)))
SAMPLES_PLANTED := $(patsubst samples/planted/%.cu,$(SAMPLES)/%,$(sort $(wildcard samples/planted/*.cu)))
SAMPLES_STATIC := $(if $(CROSS),,$(addprefix $(SAMPLES)/,vector_add_static graphs_static))
SAMPLES_PER_THREAD := $(addprefix $(SAMPLES)/,launches_per_thread callbacks_per_thread)
SAMPLES_NVTX := $(addprefix $(SAMPLES)/nvtx_,payload schemas deferred counters memory)
SAMPLES_C := $(addprefix $(SAMPLES)/,control driver nvtx nvtx_all no_cuda pooled) $(SAMPLES_NVTX)
SAMPLES_CXX := $(SAMPLES)/nvtx_cpp
SAMPLES_ALL := $(SAMPLES_CUDA) $(SAMPLES_PLANTED) $(SAMPLES_CXX) $(SAMPLES_STATIC) $(SAMPLES_PER_THREAD) $(SAMPLES_C) $(SAMPLES)/train.py \
    $(SAMPLES)/planted_python.py

samples: $(SAMPLES_ALL) plugins ## the sample programs and plugins, in build/samples

$(SAMPLES_CUDA): $(SAMPLES)/%: samples/%.cu
	$(call say,NVCC,$<)$(NVCC) $(NVCC_FLAGS) $(SHARED_CUDART) -o $@ $<

$(SAMPLES_PLANTED): $(SAMPLES)/%: samples/planted/%.cu samples/planted/planted.h
	$(call say,NVCC,$<)$(NVCC) $(NVCC_FLAGS) $(SHARED_CUDART) -o $@ $<

# Stacks of samples of processors are found by frame pointers.
$(SAMPLES)/planted_host: NVCC_FLAGS += -Xcompiler -fno-omit-frame-pointer,-mno-omit-leaf-frame-pointer,-pthread

$(SAMPLES_STATIC): $(SAMPLES)/%_static: samples/%.cu
	$(call say,NVCC,$<)$(NVCC) $(NVCC_FLAGS) -cudart static -o $@ $<

$(SAMPLES_PER_THREAD): $(SAMPLES)/%_per_thread: samples/%.cu
	$(call say,NVCC,$<)$(NVCC) $(NVCC_FLAGS) -default-stream per-thread $(SHARED_CUDART) -o $@ $<

$(SAMPLES_C): $(SAMPLES)/%: samples/%.c
	$(call say,CC,$<)$(CC) -std=c11 -D_GNU_SOURCE $(CFLAGS) $(WARNINGS) -Iinclude -isystem $(CUDA_HOME)/include -pthread -o $@ $< $(SAMPLE_LIBS) -ldl

# With a copy of NVTX's code of its own, as every shared library that uses it has.
$(SAMPLES)/libnvtx_all.so: samples/nvtx_all_library.c samples/nvtx_all_library.h samples/samples.mk | $(SAMPLES)/.exists
	$(call say,CC,$<)$(CC) -std=c11 -D_GNU_SOURCE $(CFLAGS) $(WARNINGS) -isystem $(CUDA_HOME)/include -fPIC -shared -Wl,-soname,libnvtx_all.so \
	    -o $@ $< -ldl
$(SAMPLES)/nvtx_all: SAMPLE_LIBS := -Isamples/opencl -L$(SAMPLES) -lnvtx_all -L$(CUDA_LIBS) -lcudart \
    -L$(CUDA_STUBS) -lcuda -Wl,--enable-new-dtags,-rpath,'$$ORIGIN:$(CUDA_HOME)/lib64'
$(SAMPLES)/nvtx_all: $(SAMPLES)/libnvtx_all.so $(wildcard samples/nvtx_all*.h) samples/opencl/CL/cl.h

$(SAMPLES_CXX): $(SAMPLES)/%: samples/%.cpp
	$(call say,CXX,$<)$(CXX) -std=c++17 $(CFLAGS) -Wall -Wextra -Wconversion $(WERROR_FLAG) -Iinclude -isystem $(CUDA_HOME)/include -pthread \
	    -o $@ $< -ldl

$(SAMPLES)/driver: SAMPLE_LIBS := -L$(CUDA_STUBS) -lcuda
# Linked with the allocator, as programs that use allocator.h are, and with the sanitizer that is in it.
$(SAMPLES)/pooled: SAMPLE_LIBS := -L$(CUDA_STUBS) -lcuda -L$(B) -lgputrace-allocator -Wl,-rpath,'$$ORIGIN/..' $(SANITIZE)
$(SAMPLES)/pooled: $(B)/libgputrace-allocator.so include/gputrace/allocator.h
$(addprefix $(SAMPLES)/,callbacks callbacks_per_thread compile conditional leaks planted_code): SHARED_CUDART += -L$(CUDA_STUBS) -lcuda
$(addprefix $(SAMPLES)/,callbacks callbacks_per_thread): $(wildcard samples/callbacks*.h)
$(SAMPLES_NVTX): samples/nvtx_payload.h
$(SAMPLES)/races: $(wildcard samples/races*.h)

$(SAMPLES)/planted_python.py: samples/planted/planted_python.py
	$(call say,CP,$@)cp $< $@

$(SAMPLES)/train.py: samples/train.py
	$(call say,CP,$@)cp $< $@

$(SAMPLES_ALL): samples/statement.h include/gputrace/gputrace.h samples/samples.mk | toolkit $(SAMPLES)/.exists $(if $(CROSS),$(SIMGPU_LIBS))
$(SAMPLES)/.exists:
	@mkdir -p $(@D)
	@touch $@

# Plugins: NAME.so is made of NAME.c and of what is beside it as NAME_*.c. They include gputrace's headers, nothing of CUDA's.
PLUGIN_FILES := $(wildcard samples/plugins/*.[ch])
PLUGIN_NAMES := $(foreach name,$(patsubst samples/plugins/%.c,%,$(filter %.c,$(PLUGIN_FILES))),$(if $(findstring _,$(name)),,$(name)))
PLUGINS := $(PLUGIN_NAMES:%=$(SAMPLES)/plugins/%.so)

plugins: $(PLUGINS)

PLUGIN_OBJ := $(call objects,$(filter %.c,$(PLUGIN_FILES)))
-include $(PLUGIN_OBJ:.o=.d)

$(PLUGINS): $(SAMPLES)/plugins/%.so: $(PLUGIN_OBJ) $(if $(PORTABLE),$(call objects,src/packaging/glibc.c))
	@mkdir -p $(@D)
	$(call say,LD,$@)$(CC) $(SANITIZE) -pthread -shared $(LINK_FLAGS) $(if $(SAN),,-Wl$(comma)-z$(comma)defs) -o $@ \
	    $(filter $(B)/obj/samples/plugins/$*.o $(B)/obj/samples/plugins/$*_%.o %/glibc.o,$^)

include tests/tools/tools.mk

.PHONY: samples plugins
