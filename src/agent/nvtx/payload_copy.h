/*
 * Payloads of an event are copied as the program hands them over (common/spool_nvtx.h), with what pointers in them lead
 * to where the schema says that they are followed: strings, which could not be shown otherwise, and what is marked for
 * a deep copy. What another payload of the event holds is not copied again. A plain address is never followed: it may
 * be a device's.
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

/* Publishes copies of COUNT payloads of an event at TIME. Returns their number; 0: there is none. EVENT (NULL: it has
 * no attributes) gets the message, category and colour that they hold; its texts live as long as TEXT and the
 * program's. */
uint64_t nvtx_payloads_copy(const struct nvtx_domain *domain, uint64_t time, const nvtxPayloadData_t *payloads,
                            size_t count, struct gputrace_nvtx *event, struct nvtx_text *text);

/* Publishes events of SCHEMA that lie STRIDE bytes apart, and FLEXIBLE, which they may point into. */
uint64_t nvtx_payloads_copy_batch(const struct nvtx_domain *domain, uint64_t time, const struct payload_schema *schema,
                                  const nvtxPayloadData_t *events, size_t stride, const nvtxPayloadData_t *flexible);

/* Fills category, colour, payload and message of EVENT with what ATTRIBUTES (may be NULL) has of them. A struct of
 * attributes has its size in it: fields beyond its size, or beyond those known here, are not read. Texts live as long
 * as TEXT and the program's argument. */
void nvtx_read_attributes(const nvtxEventAttributes_t *attributes, struct gputrace_nvtx *event, struct nvtx_text *text);

/* Bytes of one payload of SCHEMA, or of a type of NVTX's; 0: they differ, or the schema is unknown. */
uint64_t nvtx_payload_stride(const struct nvtx_domain *domain, uint64_t schema);

#endif
