# The simulated GPU: three libraries with the names of NVIDIA's, and a private one that they share.

SIMGPU_PARTS := core cuda cudart cupti
SIMGPU_DIR := $(B)/simgpu
SIMGPU_OBJ := $(SIMGPU_DIR)/obj
SIMGPU_LIBS := $(addprefix $(SIMGPU_DIR)/,libsimgpu.so libcuda.so.1 libcuda.so libcudart.so.13 libcudart.so \
                 libcupti.so.13 libcupti.so)
SIMGPU_CFLAGS := -std=c11 -D_GNU_SOURCE $(CFLAGS) $(WARNINGS) $(SANITIZE) -fPIC -pthread \
                 -Itests/simgpu -Isrc -I$(SIMGPU_DIR)/include $(CUDA_INCLUDES)
simgpu_objects = $(patsubst tests/simgpu/%.c,$(SIMGPU_OBJ)/%.o,$(wildcard tests/simgpu/$(1)/*.c))

simgpu: $(SIMGPU_LIBS) ## the simulated GPU: build/simgpu/libcuda.so.1, libcudart.so.13, libcupti.so.13

# The names of all API calls by id, taken from the toolkit's own lists.
$(SIMGPU_DIR)/include/%_names.inc: $(CUDA_HOME)/include/cupti_%_cbid.h
	@mkdir -p $(@D)
	$(call say,GEN,$@)sed -nE 's/^ *CUPTI_[A-Z]+_TRACE_CBID_([A-Za-z_][A-Za-z0-9_]*) *= *([0-9]+),?$$/[\2] = "\1",/p' $< >$@
# The parameters of all API calls, likewise.
$(SIMGPU_DIR)/include/driver_arguments.h: $(CUDA_HOME)/include/generated_cuda_meta.h
$(SIMGPU_DIR)/include/runtime_arguments.h: $(CUDA_HOME)/include/generated_cuda_runtime_api_meta.h
$(SIMGPU_DIR)/include/%_arguments.h: tests/simgpu/arguments.awk
	@mkdir -p $(@D)
	$(call say,GEN,$@)awk -f $^ >$@
$(foreach part,$(SIMGPU_PARTS),$(call simgpu_objects,$(part))): $(SIMGPU_DIR)/include/driver_arguments.h $(SIMGPU_DIR)/include/runtime_arguments.h
$(SIMGPU_OBJ)/cupti/names.o: $(SIMGPU_DIR)/include/driver_names.inc $(SIMGPU_DIR)/include/runtime_names.inc

# The private library is open to the other three, which hide all but NVIDIA's names.
SIMGPU_OUTER := $(foreach part,cuda cudart cupti,$(call simgpu_objects,$(part)))
$(SIMGPU_OUTER): SIMGPU_CFLAGS += -fvisibility=hidden

$(SIMGPU_OBJ)/%.o: tests/simgpu/%.c tests/simgpu/simgpu.mk | toolkit
	@mkdir -p $(@D)
	$(call say,CC,$<)$(CC) $(SIMGPU_CFLAGS) -MMD -MP -c -o $@ $<

-include $(foreach part,$(SIMGPU_PARTS),$(patsubst %.o,%.d,$(call simgpu_objects,$(part))))

# RPATH, not RUNPATH: on a machine with a GPU, LD_LIBRARY_PATH may lead to NVIDIA's driver.
SIMGPU_LINK = $(CC) $(SANITIZE) -pthread -shared -Wl,-soname,$(@F) -Wl,--disable-new-dtags,-rpath,'$$ORIGIN' -L$(SIMGPU_DIR)

$(SIMGPU_DIR)/libsimgpu.so: $(call simgpu_objects,core)
	$(call say,LD,$@)$(SIMGPU_LINK) -o $@ $^ -ldl

$(SIMGPU_DIR)/libcuda.so.1: $(call simgpu_objects,cuda) $(SIMGPU_DIR)/libsimgpu.so
	$(call say,LD,$@)$(SIMGPU_LINK) -o $@ $(filter %.o,$^) -lsimgpu -ldl

$(SIMGPU_DIR)/libcudart.so.13: $(call simgpu_objects,cudart) tests/simgpu/cudart/exports.map $(SIMGPU_DIR)/libcuda.so.1
	$(call say,LD,$@)$(SIMGPU_LINK) -Wl,--version-script=tests/simgpu/cudart/exports.map -o $@ $(filter %.o,$^) -lsimgpu -l:libcuda.so.1

$(SIMGPU_DIR)/libcupti.so.13: $(call simgpu_objects,cupti) tests/simgpu/cupti/exports.map $(SIMGPU_DIR)/libsimgpu.so
	$(call say,LD,$@)$(SIMGPU_LINK) -Wl,--version-script=tests/simgpu/cupti/exports.map -o $@ $(filter %.o,$^) -lsimgpu

$(SIMGPU_DIR)/libcuda.so: $(SIMGPU_DIR)/libcuda.so.1
$(SIMGPU_DIR)/libcudart.so: $(SIMGPU_DIR)/libcudart.so.13
$(SIMGPU_DIR)/libcupti.so: $(SIMGPU_DIR)/libcupti.so.13
$(SIMGPU_DIR)/libcuda.so $(SIMGPU_DIR)/libcudart.so $(SIMGPU_DIR)/libcupti.so:
	$(call say,LN,$@)ln -sf $(<F) $@

# Its own tests: programs for CUDA like others, with a look at CUPTI.
SIMGPU_TESTS := $(patsubst %.c,$(B)/%,$(wildcard tests/simgpu/*_test.c))
SIMGPU_TEST_OBJ := $(patsubst tests/simgpu/%.c,$(SIMGPU_OBJ)/%.o,$(wildcard tests/simgpu/*.c))
$(SIMGPU_TEST_OBJ): SIMGPU_CFLAGS += -I.
-include $(SIMGPU_TEST_OBJ:.o=.d)

# RPATH here too.
$(SIMGPU_TESTS): $(B)/tests/simgpu/%: $(SIMGPU_OBJ)/%.o $(SIMGPU_OBJ)/recording.o $(SIMGPU_LIBS)
	@mkdir -p $(@D)
	$(call say,LD,$@)$(CC) $(SANITIZE) -pthread -Wl,--disable-new-dtags,-rpath,'$$ORIGIN/../../simgpu' -L$(SIMGPU_DIR) -o $@ $(filter %.o,$^) \
	    -ldl -lcupti -lcudart -lcuda -lsimgpu -lcmocka

$(B)/tests/simgpu/injected.so: $(SIMGPU_OBJ)/injected.o $(SIMGPU_LIBS)
	@mkdir -p $(@D)
	$(call say,LD,$@)$(CC) $(SANITIZE) -pthread -shared -L$(SIMGPU_DIR) -o $@ $(filter %.o,$^) -lcupti -lcuda -lsimgpu
$(B)/tests/simgpu/injection_test: $(B)/tests/simgpu/injected.so

tests: $(SIMGPU_TESTS)

.PHONY: simgpu
