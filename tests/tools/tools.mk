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
