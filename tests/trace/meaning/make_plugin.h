/*
 * More of make_spool.h: records of compilation, and of plugins. Times are ns after MAKE_SPOOL_START.
 */
#ifndef GPUTRACE_TESTS_TOOL_CONVERT_MAKE_PLUGIN_H
#define GPUTRACE_TESTS_TOOL_CONVERT_MAKE_PLUGIN_H

#include "tests/trace/meaning/make_spool.h"

struct make_phase {
    uint64_t time, phase;
    uint32_t trigger, thread, correlation, ending;
    int32_t result;
    const char *function;
};
void make_phase_start(struct make_spool *spool, struct make_phase phase);
void make_phase_end(struct make_spool *spool, struct make_phase phase);

struct make_jit {
    uint64_t start, end, group, cache_bytes;
    uint32_t entry, operation, correlation, thread;
};
void make_jit(struct make_spool *spool, struct make_jit jit);

void make_plugin(struct make_spool *spool, uint32_t plugin, const char *name);
void make_plugin_time(struct make_spool *spool, uint64_t time, uint32_t plugin, uint64_t calls, uint64_t ns);
void make_plugin_window(struct make_spool *spool, uint64_t start, uint64_t end);

struct make_plugin_event {
    uint64_t time, end;
    double value;
    uint32_t plugin, thread;
    uint16_t what; /* SPOOL_PLUGIN_SLICE … */
    const char *name, *detail;
};
void make_plugin_event(struct make_spool *spool, struct make_plugin_event event);

void make_plugin_line(struct make_spool *spool, uint64_t time, uint32_t plugin, uint32_t stack, const char *text);
void make_stack(struct make_spool *spool, uint32_t stack, const uint64_t *addresses, size_t count);
void make_python_frame(struct make_spool *spool, uint64_t number, uint32_t line, const char *function,
                       const char *file);
void make_mapping(struct make_spool *spool, const char *line);

#endif
