/*
 * Copies of an event's payloads (common/spool_nvtx.h). Pointers in them are followed where the schema says so: to
 * strings, which could not be shown otherwise, and to data marked for a deep copy. Data in another payload of the event
 * is not copied again. A plain address is never followed, because it may be a device's.
 */
#ifndef GPUTRACE_AGENT_NVTX_PAYLOAD_COPY_H
#define GPUTRACE_AGENT_NVTX_PAYLOAD_COPY_H

#include <stddef.h>
#include <stdint.h>

#include "agent/nvtx/domains.h"

struct gputrace_nvtx;
struct nvtx_domain;
struct nvtx_text;
struct payload_schema;

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
