/*
 * The payloads of one event on their way: between pieces.c, which takes what the program hands over, and
 * pieces_followed.c, which follows what is in it.
 */
#ifndef GPUTRACE_AGENT_NVTX_PIECES_TAKING_H
#define GPUTRACE_AGENT_NVTX_PIECES_TAKING_H

#include "agent/nvtx/pieces.h"
#include "common/payload.h"

struct nvtx_taking {
    uint64_t number, time;
    uint32_t domain;
    struct gputrace_nvtx *event; /* NULL: its attributes are not asked for */
    struct nvtx_text *room;
    struct payload_reader reader;
    struct payload_blob blobs[PAYLOAD_BLOBS_MAX];
    uint64_t told[NVTX_PIECES_MAX]; /* addresses of what pointers led to */
    size_t told_count;
    uint64_t lost;
};

/* Tells a piece of THERE bytes; its number and domain are filled here. */
void nvtx_taking_tell(const struct nvtx_taking *taking, struct spool_nvtx_piece *piece, enum spool_nvtx_piece_kind kind,
                      const void *bytes, uint64_t there);

/* Follows what lies at START of SIZE bytes, as the schema says: tells what pointers lead to, and takes over what the
 * event is about. */
void nvtx_taking_follow(struct nvtx_taking *taking, const struct payload_schema *schema, const uint8_t *bytes,
                        uint64_t size, uint64_t start);

#endif
