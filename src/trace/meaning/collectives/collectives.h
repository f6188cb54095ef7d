/* The calls of communication of one process, found in its ranges and numbered. */
#ifndef GPUTRACE_TRACE_MEANING_COLLECTIVES_COLLECTIVES_H
#define GPUTRACE_TRACE_MEANING_COLLECTIVES_COLLECTIVES_H

#include <stddef.h>
#include <stdint.h>

struct communication;
struct nvtx_places;
struct process;
struct spool_nccl_communicator;

/* Once all ranges are known: finds the calls; and once their tasks are: numbers them. Return 0, or -1 after error(). */
int collectives_find(struct process *process);
int collectives_number(struct communication *collectives);

/* The calls whose kernels THREAD launches at TIME: *FIRST and those after it in `calls`, COUNT of them, which it
 * returns. Any number of threads may ask, each with places of its own. */
size_t collectives_launched(const struct process *process, struct nvtx_places *places, uint32_t thread, uint64_t time,
                            size_t *first);

/* The innermost range of NCCL on THREAD at TIME: number + 1; 0: there is none. */
uint32_t collectives_range_at(const struct process *process, struct nvtx_places *places, uint32_t thread,
                              uint64_t time);
/* Where the call that is range NUMBER is in `calls`; SIZE_MAX: it is none. */
size_t collectives_place_of_range(const struct communication *collectives, uint32_t number);

/* What NCCL says of a new communicator. Returns 0, or -1: no memory. */
int collectives_learn(struct communication *collectives, const struct spool_nccl_communicator *record);

#endif
