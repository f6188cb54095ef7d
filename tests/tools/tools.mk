# check_trace, the strict checker of traces. It shares no code with src, whose output it judges.

CHECK_TRACE := $(B)/tests/check_trace
CHECK_TRACE_OBJ := $(call objects,$(call sources,tests/tools/check_trace))

check_trace: $(CHECK_TRACE)

$(CHECK_TRACE_OBJ): INCLUDES := -Itests/tools

$(CHECK_TRACE): $(CHECK_TRACE_OBJ)
	@mkdir -p $(@D)
	$(call say,LD,$@)$(CC) $(SANITIZE) -o $@ $^ -lz -lm

-include $(CHECK_TRACE_OBJ:.o=.d)

.PHONY: check_trace

# make_job, which makes traces of jobs of many ranks whose truth is known. It writes them by the tool's own sinks.
MAKE_JOB := $(B)/make_job
MAKE_JOB_OBJ := $(call objects,$(call sources,tests/tools/job))

tests: $(MAKE_JOB)

$(MAKE_JOB_OBJ): INCLUDES := -I. $(INCLUDES)

$(MAKE_JOB): $(MAKE_JOB_OBJ) $(B)/obj/tool.a
	@mkdir -p $(@D)
	$(call say,LD,$@)$(CC) $(SANITIZE) -pthread -o $@ $^ $(TOOL_LIBS)

-include $(MAKE_JOB_OBJ:.o=.d)
