/*
 * NVTX: an injection of our own, which works without a GPU and without a driver.
 *
 * NVTX's header loads the library once for each module (executable or shared library) of the program that uses NVTX,
 * and each time asks for our functions. Domains with one name are one domain, even if different modules created them.
 */
#ifndef GPUTRACE_AGENT_NVTX_NVTX_H
#define GPUTRACE_AGENT_NVTX_NVTX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/dispatch/registry.h"
#include "agent/nvtx/domains.h"
#include "common/payload.h"

/* --- our functions in NVTX's tables --- */

/* Puts our functions into the table of the calling module. Returns 1, or 0 if the module's NVTX is unknown. */
int nvtx_attach(NvtxGetExportTableFunc_t export_table);

/* Puts our functions into the table of an extension (payloads, counters, memory). The extension's header loads the
 * library at its first call, once for each module of the program. Returns 1, also for an unknown extension, whose
 * functions then do nothing, or 0 if the table is unknown. */
int nvtx_extension_attach(const nvtxExtModuleInfo_t *module);

/* A row for each function of ours. A row of zeros ends a list. */
struct nvtx_function {
    unsigned module; /* NVTX_CB_MODULE_…; 0 for a function of an extension */
    unsigned id;     /* within the module, or within the extension: NVTX3EXT_CBID_… */
    NvtxFunctionPointer function;
};
#define NVTX_FUNCTION(module, name, function) \
    {NVTX_CB_MODULE_##module, NVTX_CBID_##module##_##name, (NvtxFunctionPointer)(function)}
#define NVTX_EXTENSION_FUNCTION(name, function) {0, NVTX3EXT_CBID_##name, (NvtxFunctionPointer)(function)}

extern const struct nvtx_function nvtx_default_events[];  /* events.c: ranges and marks of the default domain */
extern const struct nvtx_function nvtx_left_out_events[]; /* events.c: for a default domain that is off */
extern const struct nvtx_function nvtx_domain_events[];   /* events.c: ranges and marks of other domains */
extern const struct nvtx_function nvtx_schema_functions[];
extern const struct nvtx_function nvtx_payload_functions[]; /* events.c */
extern const struct nvtx_function nvtx_clock_functions[];
extern const struct nvtx_function nvtx_counter_functions[];
extern const struct nvtx_function nvtx_memory_functions[];

/* --- checked reading of the program's memory --- */

/*
 * A pointer in a payload may be wrong, or a device's, so memory behind it is only read where that is possible. The
 * kernel is asked for each page, which costs a system call, so memory whose size the program's schema guarantees is not
 * checked. A page that another thread unmaps meanwhile is a race of the program.
 */

/* Returns how many of SIZE bytes at AT can be read without a gap. */
size_t program_readable(uint64_t at, size_t size);

/* Returns the number of characters of WIDTH bytes (1, 2, 4) before the first zero, within SIZE bytes and readable
 * memory. */
size_t program_text_length(uint64_t at, size_t width, size_t size);

/*
 * Copies of an event's payloads (payload_copy.c, common/spool_nvtx.h). Pointers in them are followed where the schema
 * says so: to strings, which could not be shown otherwise, and to data marked for a deep copy. Data in another payload
 * of the event is not copied again. A plain address is never followed, because it may be a device's.
 */

/* Publishes copies of COUNT payloads of an event at TIME. Returns the number that joins them to the event, or 0 if
 * there are none. EVENT (NULL: none) gets the message, category and colour found in the payloads; its texts live as
 * long as TEXT and the program's memory. */
uint64_t nvtx_payloads_copy(const struct nvtx_domain *domain, uint64_t time, const nvtxPayloadData_t *payloads,
                            size_t count, struct gputrace_nvtx *event, struct nvtx_text *text);

/* Publishes a batch of events of SCHEMA, STRIDE bytes apart, and FLEXIBLE, data which the events may point into.
 * Returns the number that joins them. */
uint64_t nvtx_payloads_copy_batch(const struct nvtx_domain *domain, uint64_t time, const struct payload_schema *schema,
                                  const nvtxPayloadData_t *events, size_t stride, const nvtxPayloadData_t *flexible);

/* Fills in category, colour, payload and message of EVENT from ATTRIBUTES (may be NULL). Fields beyond the size that
 * ATTRIBUTES contains, or unknown here, are not read. Texts live as long as TEXT and the program's argument. */
void nvtx_read_attributes(const nvtxEventAttributes_t *attributes, struct gputrace_nvtx *event, struct nvtx_text *text);

/* Returns the bytes of one payload of SCHEMA or of a type of NVTX's, or 0 if they vary or the schema is unknown. */
uint64_t nvtx_payload_stride(const struct nvtx_domain *domain, uint64_t schema);

#endif
