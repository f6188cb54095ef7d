# Fuzz targets: tests/fuzz/tool/TARGET.c and tests/fuzz/agent/TARGET.c become $(B)/fuzz/TARGET, each linked with objects
# of the tool or the library that clang built under the address and undefined sanitizers. `make FUZZ_SECONDS=600 fuzz`
# runs each for ten minutes; tests/fuzz/run does the same for some of them.

CLANG ?= $(firstword $(foreach name,clang clang-19 clang-18 clang-17 clang-16 clang-15 clang-14,$(shell command -v $(name))))
FUZZ_SECONDS ?= 60
F := $(B)/fuzz

FUZZ_SANITIZE := address,undefined
FUZZ_CFLAGS := -std=c11 $(DEFINES) -O1 -g -w -fno-omit-frame-pointer -pthread \
               -fno-sanitize-recover=all -DFUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
FUZZ_INCLUDES := -I. $(INCLUDES)
FUZZ_TOOL_HELPERS := tests/fuzz/tool/files.c tests/fuzz/tool/convert_all.c tests/fuzz/tool/scene.c tests/trace/meaning/make_spool.c
FUZZ_TOOL := $(filter-out $(FUZZ_TOOL_HELPERS) tests/fuzz/tool/seeds.c,$(call sources,tests/fuzz/tool))
FUZZ_AGENT := $(call sources,tests/fuzz/agent)

fuzz_objects = $(patsubst %.c,$(F)/obj/%.o,$(1))
fuzz_targets = $(addprefix $(F)/,$(basename $(notdir $(1))))
FUZZERS := $(call fuzz_targets,$(FUZZ_TOOL) $(FUZZ_AGENT))

$(F)/obj/%.o: %.c Makefile tests/fuzz/fuzz.mk | toolkit
	@mkdir -p $(@D)
	$(call say,CC,$<)$(CLANG) $(FUZZ_CFLAGS) -fsanitize=fuzzer-no-link,$(FUZZ_SANITIZE) $(FUZZ_INCLUDES) -MMD -MP -c -o $@ $<

$(addprefix $(F)/obj/,$(GEN_OBJ)): $(GEN_TABLES)
$(addprefix $(F)/obj/,$(GEN_OBJ)): FUZZ_INCLUDES += -I$(GEN)

FUZZ_OBJ := $(call fuzz_objects,$(COMMON_SRC) $(AGENT_SRC) $(TOOL_SRC) $(FUZZ_TOOL) $(FUZZ_AGENT) $(FUZZ_TOOL_HELPERS) \
    tests/fuzz/tool/seeds.c)
-include $(FUZZ_OBJ:.o=.d)
.PRECIOUS: $(FUZZ_OBJ)

$(F)/tool.a: $(filter-out %/cli/main.o,$(call fuzz_objects,$(TOOL_SRC) $(COMMON_SRC) $(FUZZ_TOOL_HELPERS)))
$(F)/agent.a: $(call fuzz_objects,$(AGENT_SRC) $(COMMON_SRC))
$(F)/tool.a $(F)/agent.a:
	@mkdir -p $(@D)
	@rm -f $@
	$(call say,AR,$@)$(AR) rcs $@ $(filter %.o,$^)

$(call fuzz_targets,$(FUZZ_TOOL)): $(F)/%: $(F)/obj/tests/fuzz/tool/%.o $(F)/tool.a
	$(call say,LD,$@)$(CLANG) -fsanitize=fuzzer,$(FUZZ_SANITIZE) -pthread -o $@ $^ $(TOOL_LIBS)

$(call fuzz_targets,$(FUZZ_AGENT)): $(F)/%: $(F)/obj/tests/fuzz/agent/%.o $(F)/agent.a
	$(call say,LD,$@)$(CLANG) -fsanitize=fuzzer,$(FUZZ_SANITIZE) -pthread -o $@ $^ -ldl

# Seeds that are spools are made by a program, so that they follow the format.
$(F)/make-seeds: $(F)/obj/tests/fuzz/tool/seeds.o $(F)/tool.a
	$(call say,LD,$@)$(CLANG) -fsanitize=$(FUZZ_SANITIZE) -pthread -o $@ $^ $(TOOL_LIBS)

$(F)/seeds: $(F)/make-seeds
	@rm -rf $@
	@mkdir -p $@
	$(call say,GEN,$@)$< $@

# Nothing without clang; a test then says so.
fuzzers: $(if $(CLANG),$(FUZZERS) $(F)/seeds)

fuzz: build/.setup ## looks for inputs that break the readers, for a minute each; FUZZ_SECONDS=N for longer
	@+$(SUBMAKE) fuzzers
	@tests/fuzz/run -b $(B) -s $(FUZZ_SECONDS)

.PHONY: fuzzers fuzz
