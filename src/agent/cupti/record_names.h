/*
 * The texts that CUPTI's records point to, told once each. CUPTI has a copy of every name and frees it when the code is
 * unloaded: from then on the same pointer may stand for another text.
 */
#ifndef GPUTRACE_AGENT_CUPTI_RECORD_NAMES_H
#define GPUTRACE_AGENT_CUPTI_RECORD_NAMES_H

#include <stdint.h>

/* Publishes what NAME (NULL: nothing) stands for in a record of CORRELATION's work (0: of no call's), when that is not
 * known. From any thread. */
void record_names_tell(const char *name, uint32_t correlation);

/* Code is about to be unloaded, and all names that were launched until now are told: those of later launches are looked
 * at again. */
void record_names_unloading(void);

/* That code is gone, and so are its kernels: what its pointers come to mean, they mean from now on. */
void record_names_unloaded(void);

/* From when on pointers mean what they mean now, as clock_now(); 0: they always did. From a signal handler too. */
uint64_t record_names_since(void);

/* In a forked child: the names told so far went into the parent's spool. */
void record_names_leave(void);

#endif
