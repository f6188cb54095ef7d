/*
 * Payloads of an event, copied as copies of program memory (common/spool_nvtx.h): what the program hands over,
 * and what pointers in it lead to, as far as its schema says that they are followed.
 *
 * Followed are strings, which could not be shown otherwise, and what a schema marks for a deep copy. What another
 * payload of the event holds is there already. A plain address is never followed: it may be a device's.
 */
#ifndef GPUTRACE_AGENT_NVTX_PAYLOAD_COPY_H
#define GPUTRACE_AGENT_NVTX_PAYLOAD_COPY_H

#include "agent/nvtx/domains.h"
#include "agent/nvtx/extension_headers.h"
#include "common/payload.h"

/* Publishes copies of COUNT payloads of an event at TIME. Returns their number, 0: there is none. EVENT (NULL: it has
 * no attributes here) takes the message, category and colour that they hold; its texts live as long as ROOM and the
 * program's. */
uint64_t nvtx_payloads_copy(const struct nvtx_domain *domain, uint64_t time, const nvtxPayloadData_t *payloads,
                            size_t count, struct gputrace_nvtx *event, struct nvtx_text *room);

/* Fills category, colour, payload and message of EVENT, of these what ATTRIBUTES (may be NULL) has. Texts live as long
 * as ROOM and the program's argument. */
void nvtx_read_attributes(const nvtxEventAttributes_t *attributes, struct gputrace_nvtx *event, struct nvtx_text *room);

/* Publishes SIZE bytes of events of SCHEMA that lie STRIDE bytes apart, and FLEXIBLE, which they may point into. */
uint64_t nvtx_payloads_copy_batch(const struct nvtx_domain *domain, uint64_t time, const struct payload_schema *schema,
                                  const nvtxPayloadData_t *events, size_t stride, const nvtxPayloadData_t *flexible);

/* Bytes of one payload of SCHEMA, or of a type of NVTX's; 0: they differ, or it is not known. */
uint64_t nvtx_payload_stride(const struct nvtx_domain *domain, uint64_t schema);

#endif
