# What the tests need built. Unit tests mirror the sources: tests/FOLDER/NAME_test.c is one program with a main of its own.
# Those of the agent link with the agent's objects, those of the allocator with the allocator's, all others with the tool's
# (but its main). Other C files beside them are helpers that any test of the same side may call.

UNIT_SRC := $(filter-out tests/simgpu/%,$(sort $(shell find tests -name '*_test.c')))
UNIT_TESTS := $(patsubst %_test.c,$(B)/%_test,$(UNIT_SRC))
AGENT_TESTS := $(filter $(B)/tests/agent/%,$(UNIT_TESTS))
ALLOCATOR_TESTS := $(filter $(B)/tests/allocator/%,$(UNIT_TESTS))
PLUGIN_TESTS := $(filter $(B)/tests/samples/plugins/%,$(UNIT_TESTS))
TOOL_TESTS := $(filter-out $(AGENT_TESTS) $(ALLOCATOR_TESTS) $(PLUGIN_TESTS),$(UNIT_TESTS))
HELPER_SRC := $(filter-out $(UNIT_SRC),$(sort $(shell find $(addprefix tests/,common agent allocator trace analysis launch symbols cli) -name '*.c' 2>/dev/null)))
AGENT_HELPERS := $(call objects,$(filter tests/agent/%,$(HELPER_SRC)))
ALLOCATOR_HELPERS := $(call objects,$(filter tests/allocator/%,$(HELPER_SRC)))
TOOL_HELPERS := $(call objects,$(filter-out tests/agent/% tests/allocator/%,$(HELPER_SRC)))

# Each C file here is a program of its own, linked with the tool's objects.
TEST_PROGRAM_SRC := $(filter-out tests/bench/tracing_%,$(call sources,tests/bench))
TEST_PROGRAMS := $(patsubst %.c,$(B)/%,$(TEST_PROGRAM_SRC))

TEST_OBJ := $(call objects,$(UNIT_SRC) $(HELPER_SRC) $(TEST_PROGRAM_SRC) $(wildcard tests/bench/tracing_*.c tests/bench/allocator/*.c))
$(TEST_OBJ): INCLUDES := -I. $(INCLUDES)
-include $(TEST_OBJ:.o=.d)

# Archives, so that a test takes the objects it calls and no others; helpers come first.
$(B)/obj/tool.a: $(filter-out $(MAIN_OBJ),$(TOOL_OBJ)) $(COMMON_OBJ)
$(B)/obj/tool_helpers.a: $(TOOL_HELPERS)
$(B)/obj/agent.a: $(AGENT_OBJ) $(COMMON_OBJ)
$(B)/obj/agent_helpers.a: $(AGENT_HELPERS)
$(B)/obj/allocator.a: $(ALLOCATOR_OBJ) $(COMMON_OBJ)
$(B)/obj/allocator_helpers.a: $(ALLOCATOR_HELPERS)
$(addprefix $(B)/obj/,tool.a tool_helpers.a agent.a agent_helpers.a allocator.a allocator_helpers.a): Makefile
	@mkdir -p $(@D)
	@rm -f $@
	$(call say,AR,$@)$(AR) rcs $@ $(filter %.o,$^)

$(TOOL_TESTS) $(TEST_PROGRAMS): $(B)/%: $(B)/obj/%.o $(B)/obj/tool_helpers.a $(B)/obj/tool.a
	@mkdir -p $(@D)
	$(call say,LD,$@)$(CC) $(SANITIZE) -pthread -o $@ $^ $(TOOL_LIBS) -lcmocka

$(AGENT_TESTS): $(B)/%: $(B)/obj/%.o $(B)/obj/agent_helpers.a $(B)/obj/agent.a
	@mkdir -p $(@D)
	$(call say,LD,$@)$(CC) $(SANITIZE) -pthread -o $@ $^ -ldl -lcmocka

$(ALLOCATOR_TESTS): $(B)/%: $(B)/obj/%.o $(B)/obj/allocator_helpers.a $(B)/obj/allocator.a
	@mkdir -p $(@D)
	$(call say,LD,$@)$(CC) $(SANITIZE) -pthread -o $@ $^ -ldl -lcmocka

# Those of a plugin, tests/samples/plugins/PLUGIN_WHAT_test.c, link with its objects and nothing of gputrace's.
plugin_objects = $(call objects,$(wildcard samples/plugins/$(1).c samples/plugins/$(1)_*.c))
define plugin_tests
$(filter $(B)/tests/samples/plugins/$(1)_%,$(PLUGIN_TESTS)): $(B)/%: $(B)/obj/%.o $(call plugin_objects,$(1))
	@mkdir -p $$(@D)
	$$(call say,LD,$$@)$$(CC) $$(SANITIZE) -pthread -o $$@ $$^ -ldl -lcmocka
-include $(patsubst %.o,%.d,$(call plugin_objects,$(1)))
endef
$(foreach plugin,$(PLUGIN_NAMES),$(eval $(call plugin_tests,$(plugin))))

# Programs that measure the allocator.
ALLOCATOR_BENCH := $(patsubst %.c,$(B)/%,$(call sources,tests/bench/allocator))
$(ALLOCATOR_BENCH): $(B)/%: $(B)/obj/%.o $(B)/obj/allocator.a
	@mkdir -p $(@D)
	$(call say,LD,$@)$(CC) $(SANITIZE) -pthread -o $@ $^ -ldl

# What tests/agent/python loads into Python.
FRAMES_LIBRARY := $(B)/tests/agent/python/libframes.so
$(FRAMES_LIBRARY): $(B)/obj/tests/agent/python/frames_library.o $(B)/obj/agent.a
	@mkdir -p $(@D)
	$(call say,LD,$@)$(CC) $(SANITIZE) -pthread -shared -Wl,--gc-sections -Wl,--exclude-libs,ALL -o $@ $^ -ldl

# Programs for a GPU, to measure on.
BENCH_CUDA := $(patsubst %.cu,$(B)/%,$(filter-out tests/bench/tracing_%,$(sort $(wildcard tests/bench/*.cu))))
$(BENCH_CUDA): $(B)/%: %.cu $(wildcard include/gputrace/*.h) samples/samples.mk
	@mkdir -p $(@D)
	$(call say,NVCC,$<)$(NVCC) $(NVCC_FLAGS) $(SHARED_CUDART) -o $@ $< -ldl

# What tracing costs (tests/bench/tracing): loops, which torch.profiler's script calls too, a program around them, and the
# least tool that there can be. Program and loops are never sanitized: they are what is measured.
TRACING_BENCH := $(addprefix $(B)/tests/bench/,libtracing_loops.so tracing_program tracing_floor.so tracing_floor_nccl.so)
$(B)/tests/bench/libtracing_loops.so: tests/bench/tracing_loops.cu tests/bench/tracing_loops.h samples/samples.mk
	@mkdir -p $(@D)
	$(call say,NVCC,$<)$(NVCC) $(NVCC_FLAGS) $(SHARED_CUDART) -Xcompiler -fPIC -shared -Xlinker -soname,$(@F) -o $@ $< -ldl

$(B)/tests/bench/tracing_program: tests/bench/tracing_program.c tests/bench/tracing_loops.h include/gputrace/gputrace.h \
    $(B)/tests/bench/libtracing_loops.so
	$(call say,CC,$<)$(CC) -std=c11 -D_GNU_SOURCE $(CFLAGS) $(WARNINGS) -Iinclude -o $@ $< -L$(@D) -ltracing_loops \
	    -Wl,-rpath-link,$(CUDA_LIBS) -Wl,--enable-new-dtags,-rpath,'$$ORIGIN:$(CUDA_HOME)/lib64' -ldl

$(B)/tests/bench/tracing_floor.so: $(call objects,tests/bench/tracing_floor.c src/common/cupti.c src/common/map.c \
    src/common/memory.c src/common/log.c src/common/text.c src/agent/cupti/cupti_library.c src/agent/cupti/activity_kinds.c)
	@mkdir -p $(@D)
	$(call say,LD,$@)$(CC) $(SANITIZE) -pthread -shared -Wl,-z,defs -o $@ $^ -ldl

$(B)/tests/bench/tracing_floor_nccl.so: $(call objects,tests/bench/tracing_floor_nccl.c)
	@mkdir -p $(@D)
	$(call say,LD,$@)$(CC) $(SANITIZE) -shared -Wl,-z,defs -o $@ $^

# Programs in C++ that call the allocator as PyTorch does, and stand in for a piece of it.
TORCH_TESTS := $(addprefix $(B)/tests/allocator/,torch_calls libc10.so)
$(B)/tests/allocator/torch_calls: tests/allocator/torch_calls.cc include/gputrace/allocator.h
	@mkdir -p $(@D)
	$(call say,CXX,$<)$(CXX) -std=c++11 $(CFLAGS) -Wall -Wextra $(WERROR_FLAG) $(SANITIZE) -Iinclude -o $@ $< -ldl

$(B)/tests/allocator/libc10.so: tests/allocator/libc10.cc
	@mkdir -p $(@D)
	$(call say,CXX,$<)$(CXX) -std=c++11 $(CFLAGS) -Wall -Wextra $(WERROR_FLAG) $(SANITIZE) -fPIC -shared -Wl,-soname,$(@F) -o $@ $<

# Programs that shall not be harmed. They run on the driver alone, a real or a simulated one.
ROBUST_SRC := $(sort $(wildcard tests/robust/programs/*.c))
ROBUST := $(patsubst %.c,$(B)/%,$(filter-out %_library.c,$(ROBUST_SRC))) $(B)/tests/robust/programs/nvtx_static \
          $(patsubst %_library.c,$(B)/%_library.so,$(filter %_library.c,$(ROBUST_SRC))) $(B)/tests/robust/programs/torch_library.so
ROBUST_CC = $(CC) -std=c11 -D_GNU_SOURCE $(CFLAGS) $(WARNINGS) $(CUDA_INCLUDES) -pthread
ROBUST_LIBS := -L$(CUDA_STUBS) -lcuda -ldl

$(ROBUST): tests/robust/programs/gpu.h tests/robust/programs/rounds.h tests/robust/programs/torch_fake.h tests/tests.mk
$(ROBUST) $(BENCH_CUDA) $(B)/tests/bench/libtracing_loops.so: | $(if $(CROSS),$(SIMGPU_LIBS))
$(B)/tests/robust/programs/nvtx_static: tests/robust/programs/nvtx_only.c
	@mkdir -p $(@D)
	$(call say,CC,$<)$(ROBUST_CC) -static -o $@ $<
$(addprefix $(B)/tests/robust/programs/,nvtx_only short_processes): $(B)/%: %.c
	@mkdir -p $(@D)
	$(call say,CC,$<)$(ROBUST_CC) $(SANITIZE) -o $@ $< -ldl
$(B)/tests/robust/programs/torch_library.so: tests/robust/programs/torch_library.cc
	@mkdir -p $(@D)
	$(call say,CXX,$<)$(CXX) -std=c++11 -D_GNU_SOURCE $(CFLAGS) -Wall -Wextra $(WERROR_FLAG) -fPIC -shared -pthread -o $@ $<
$(B)/tests/robust/programs/%.so: tests/robust/programs/%.c
	@mkdir -p $(@D)
	$(call say,CC,$<)$(ROBUST_CC) -fPIC -shared -o $@ $< $(ROBUST_LIBS)
$(B)/tests/robust/programs/%: tests/robust/programs/%.c
	@mkdir -p $(@D)
	$(call say,CC,$<)$(ROBUST_CC) -o $@ $< $(ROBUST_LIBS)

# Programs in which CPU samples find something.
PERF_PROGRAMS := $(patsubst %.c,$(B)/%,$(wildcard tests/perf/programs/*.c))
$(PERF_PROGRAMS): $(B)/%: %.c
	@mkdir -p $(@D)
	$(call say,CC,$<)$(CC) -std=c11 -D_GNU_SOURCE -O2 -g -fomit-frame-pointer $(WARNINGS) $(CUDA_INCLUDES) -pthread -o $@ $< -ldl

# A stand-in for NCCL on the simulated GPU, and a job of ranks that use it.
FAKE_NCCL := $(B)/tests/nccl/fake_nccl
FAKE_NCCL_SRC := $(sort $(wildcard tests/nccl/*.c))
$(FAKE_NCCL): $(FAKE_NCCL_SRC) $(wildcard tests/nccl/*.h) tests/simgpu/core/meeting.h $(SIMGPU_LIBS) tests/tests.mk
	@mkdir -p $(@D)
	$(call say,CC,tests/nccl)$(CC) -std=c11 -D_GNU_SOURCE $(CFLAGS) $(WARNINGS) -Wno-missing-field-initializers $(SANITIZE) \
	    $(CUDA_INCLUDES) -I. -Itests/simgpu -pthread -o $@ $(FAKE_NCCL_SRC) -Wl,--export-dynamic-symbol=ncclGetVersion \
	    -Wl,--disable-new-dtags,-rpath,'$$ORIGIN/../../simgpu' \
	    -L$(SIMGPU_DIR) -lcuda -lsimgpu -ldl

tests: $(ROBUST) $(PERF_PROGRAMS) $(FAKE_NCCL)

tests: $(FRAMES_LIBRARY) $(TORCH_TESTS) $(UNIT_TESTS) $(TEST_PROGRAMS) $(ALLOCATOR_BENCH) $(BENCH_CUDA) $(TRACING_BENCH)

.PHONY: tests
