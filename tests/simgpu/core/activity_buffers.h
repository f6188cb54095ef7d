/* The buffers of activity.h, for its two files. All functions want the state's lock held. */
#ifndef SIMGPU_CORE_ACTIVITY_BUFFERS_H
#define SIMGPU_CORE_ACTIVITY_BUFFERS_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cupti.h>

#include "core/list.h"

struct activity_buffer {
    uint8_t *data;
    size_t size, used;
    size_t records, most_records; /* most 0: as many as fit */
    size_t incomplete;
    struct activity_owner *owner; /* who writes into it; NULL when nobody will any more */
    bool handed;                  /* given back: what completes now is not seen by anyone */
};

/* Of a thread, or of all threads together. */
struct activity_owner {
    struct activity_buffer *current;
};

struct activity_state {
    pthread_mutex_t lock;
    pthread_cond_t changed; /* a buffer can be handed over, or the last handing over has ended */
    CUpti_BuffersCallbackRequestFunc request;
    CUpti_BuffersCallbackCompleteFunc complete;
    struct list buffers; /* all that the tool has not been given back */
    struct activity_owner shared;
    size_t dropped, written, handing;
    bool single_buffer, zeroed, worker;
    pthread_key_t owner_key;
};
extern struct activity_state activity;

/* In whose name this thread writes. */
struct activity_owner *activity_owner(void);
/* A new buffer for OWNER, from the tool, with the lock let go. NULL when it has nothing that would hold SIZE bytes. */
struct activity_buffer *activity_request(struct activity_owner *owner, size_t size);
/* Nobody writes into BUFFER any more; it goes when all in it is complete. May be NULL. */
void activity_seal(struct activity_buffer *buffer);
/* Frees BUFFER if it was handed over and no work will complete a record in it. */
void activity_free(struct activity_buffer *buffer);

#endif
